package main

import "testing"

func TestAlertsRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"alerts now", `unknown command "now" for "noregret alerts"`},
		refusal{"alerts test now", `test takes no arguments, got "now"`},
		refusal{"serve --alert-webhook http://127.0.0.1:1", "alert webhook: "},
		refusal{"serve --alert-webhook ftp://a --alert-secret-file s", "alert webhook: want an address such as"},
		refusal{
			"serve --alert-webhook http://127.0.0.1:9093/ --alert-webhook-format alertmanager",
			"alert webhook: want the address of an Alertmanager's alerts, such as " +
				"http://alertmanager.example:9093/api/v2/alerts",
		},
		refusal{
			"serve --alert-webhook-format pager",
			`invalid argument "pager" for "--alert-webhook-format" flag: want json or slack or alertmanager`,
		},
		refusal{"serve --public-url decisions", `public url: "decisions": want the address of this service`},
	)
}
