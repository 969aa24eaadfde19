package service

import (
	"testing"

	"github.com/noregret/noregret/internal/cli/clitest"
)

func TestAlertsRefuses(t *testing.T) {
	cmds.Refused(t,
		clitest.Refusal{"alerts now", `unknown command "now" for "noregret alerts"`},
		clitest.Refusal{"alerts test now", `test takes no arguments, got "now"`},
		clitest.Refusal{"serve --alert-webhook http://127.0.0.1:1", "alert webhook: "},
		clitest.Refusal{
			"serve --alert-webhook ftp://a --alert-secret-file s",
			"alert webhook: want an address such as",
		},
		clitest.Refusal{
			"serve --alert-webhook http://127.0.0.1:9093/ --alert-webhook-format alertmanager",
			"alert webhook: want the address of an Alertmanager's alerts, such as " +
				"http://alertmanager.example:9093/api/v2/alerts",
		},
		clitest.Refusal{
			"serve --alert-webhook-format pager",
			`invalid argument "pager" for "--alert-webhook-format" flag: want json or slack or alertmanager`,
		},
		clitest.Refusal{"serve --public-url decisions", `public url: "decisions": want the address of this service`},
	)
}
