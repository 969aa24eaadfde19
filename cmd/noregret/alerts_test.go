package main

import "testing"

func TestAlertsRefuses(t *testing.T) {
	checkRefused(t,
		refusal{"alerts now", `unknown command "now" for "noregret alerts"`},
		refusal{"alerts test now", `test takes no arguments, got "now"`},
		refusal{"serve --alert-webhook http://127.0.0.1:1", "alert webhook: "},
		refusal{"serve --alert-webhook ftp://a --alert-secret-file s", "alert webhook: want an address such as"},
	)
}
