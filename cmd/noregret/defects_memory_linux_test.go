package main

import (
	"fmt"
	"strings"
	"sync"
)

// memoryDefects are those of memory, of heavy reads and of full experiments.
var memoryDefects = []defect{
	{
		id: "a1", measures: "memory that 16 parallel GET /v1/state add, with 300,000 open units",
		guards: "`TestStateIsShared`", run: parallelStates,
	},
	{
		id: "a2", measures: "GET /v1/state from a page of another site, without tokens",
		guards: "`TestOtherSitesRead`", run: otherSite,
	},
	{
		id: "b1", measures: "1,100,000 units with immediate exposures at the default `open_tokens`: not counted",
		guards: "`TestOpenMemory`, `TestUnitsBeyondMemory`", long: true, run: defaultOpenTokens,
	},
	{
		id: "b2", measures: "`open_tokens: 1000` and 5,000 immediate exposures: what the report says",
		guards: "`TestRefusalsAreSeen`", run: silentRefusals,
	},
	{
		id: "b3", measures: "another token has decided for 2,000 units, `open_tokens: 1000`: of 50 units counted",
		guards: "`TestOpenShare`", run: starvingToken,
	},
}

// fill makes n units of toy wait, in requests of 10,000.
func (l *living) fill(prefix string, n int) {
	l.t.Helper()
	for i := 0; i < n; i += 10_000 {
		l.decide(fmt.Sprintf("%s%d-", prefix, i), min(10_000, n-i))
	}
}

func parallelStates(r *rig) finding {
	l := r.serve()
	l.apply(toyOf("exposure: immediate\n"))
	l.fill("u", r.pick(300_000, 100_000))
	l.must("GET", "/v1/state", "", nil)
	_, before := l.memory()
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() { l.do("GET", "/v1/state", "") })
	}
	all.Wait()
	_, after := l.memory()
	return found(after-before < 100, "%.0f MiB", after-before)
}

func otherSite(r *rig) finding {
	l := r.serve()
	a := l.do("GET", "/v1/state", "", "Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example")
	policy := a.header.Get("Cross-Origin-Resource-Policy")
	if policy == "" {
		policy = "none"
	}
	return found(a.status == 403 && policy == "same-origin", "%d, Cross-Origin-Resource-Policy: %s", a.status, policy)
}

func defaultOpenTokens(r *rig) finding {
	const units = 1_100_000
	l := r.serve()
	l.apply(toyOf("exposure: immediate\n"))
	l.fill("u", units)
	lost := units - l.report().Health.Exposures.Accepted
	return found(lost == 0, "%d", lost)
}

func silentRefusals(r *rig) finding {
	l := r.serve()
	l.apply(toyOf("exposure: immediate\nopen_tokens: 1000\n"))
	l.fill("u", 5000)
	h := l.report().Health
	refusals := 0
	for _, p := range h.Problems {
		if strings.Contains(p, "refused") {
			refusals++
		}
	}
	return found(h.Exposures.Rejected >= 4000 && refusals > 0, "%d counted, %d rejected, %d problems",
		h.Exposures.Accepted, h.Exposures.Rejected, len(h.Problems))
}

func starvingToken(r *rig) finding {
	tokens := r.write("tokens.yaml", `tokens:
  - {name: ops, roles: [admin], token: 0123456789abcdef-ops}
  - {name: page, roles: [decide], token: 0123456789abcdef-page}
  - {name: shop, roles: [decide], token: 0123456789abcdef-shop}
`)
	l := r.serve("--tokens", tokens)
	counted := func(token string, n int) int {
		l.token = "0123456789abcdef-ops"
		before := l.report().Health.Exposures.Accepted
		l.token = "0123456789abcdef-" + token
		for i := range n / 10 {
			l.decide(fmt.Sprint(token, i, "-"), 10)
		}
		l.token = "0123456789abcdef-ops"
		return l.report().Health.Exposures.Accepted - before
	}
	l.token = "0123456789abcdef-ops"
	l.apply(toyOf("exposure: immediate\nopen_tokens: 1000\n"))
	counted("page", 2000)
	n := counted("shop", 50)
	return found(n == 50, "%d", n)
}
