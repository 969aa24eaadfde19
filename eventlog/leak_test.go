package eventlog

import (
	"testing"

	"github.com/anishathalye/porcupine"
	"go.uber.org/goleak"
)

var _ porcupine.Model

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
