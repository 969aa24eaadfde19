package cli

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestVersionRefuses(t *testing.T) {
	cmds.Refused(t, clitest.Refusal{"version now", `version takes no arguments, got "now"`})
}

// TestWriteVersion checks that the line has a short revision, with a mark if the tree was changed,
// and neither without a revision.
func TestWriteVersion(t *testing.T) {
	for _, tc := range []struct {
		settings []debug.BuildSetting
		want     string
	}{
		{nil, "noregret v1.2.3 go"},
		{[]debug.BuildSetting{{Key: "vcs.modified", Value: "true"}}, "noregret v1.2.3 go"},
		{
			[]debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}},
			"noregret v1.2.3 0123456789ab go",
		},
		{
			[]debug.BuildSetting{
				{Key: "vcs.revision", Value: "0123456789abcdef"},
				{Key: "vcs.modified", Value: "true"},
			},
			"noregret v1.2.3 0123456789ab+changes go",
		},
	} {
		var out strings.Builder
		info := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}, Settings: tc.settings}
		if err := writeVersion(&out, info); err != nil || !strings.HasPrefix(out.String(), tc.want) {
			t.Errorf("%v: %q, %v, want %q...", tc.settings, out.String(), err, tc.want)
		}
	}
}
