package main

import (
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// httpDefects are those of single requests, of TLS, and of the time that requests take.
var httpDefects = []defect{
	{
		id: "gzip", measures: "a body with `Content-Encoding: gzip`", guards: "`TestGzipBodies`", run: gzipBody,
	},
	{
		id:       "batch",
		measures: "feedback of two items, one of a wrong form", guards: "`TestOneBadItem`", run: oneBadItem,
	},
	{
		id:       "base64",
		measures: "a token with a line break in it, as feedback", guards: "`TestTokenRefused`", run: brokenToken,
	},
	{
		id:       "etag",
		measures: "PUT of a definition with an outdated If-Match", guards: "`TestIfMatch`", run: outdatedMatch,
	},
	{
		id:       "bulk",
		measures: "OFREP's bulk evaluation for another flag set, `exposure: immediate`: flags; exposures of toy",
		guards:   "`TestBulkSelects`", run: bulkEvaluation,
	},
	{
		id: "action", measures: "a guardrail rolls back: events of it in the log; what the report says",
		guards: "`TestGuardActionStays`", run: guardAction,
	},
	{
		id: "tls", measures: "a renewed certificate: served; HSTS; a client that has CBC only",
		guards: "`TestCertificateChanges`", run: renewedCertificate,
	},
	{
		id: "readers", measures: "feedback of 8 senders, p50: alone; beside 16 readers of a report of 1,000 arms",
		guards: "`TestSharedReads`, `TestReadsRest`", long: true, run: besideReaders,
	},
	{
		id: "create", measures: "creation of an experiment, median: beside 10 others; beside 3,000",
		guards: "`BenchmarkCreate`", long: true, run: creation,
	},
}

func gzipBody(r *rig) finding {
	l := r.serve()
	l.apply(toyOf(""))
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(unitsBody("u", 10))); err != nil {
		r.t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		r.t.Fatal(err)
	}
	a := l.do("POST", "/v1/experiments/toy/decide", b.String(), "Content-Encoding", "gzip")
	return found(a.status == 200, "%d", a.status)
}

// accepted returns the number of accepted items in an answer.
func (a answer) accepted() int {
	var c counts
	_ = json.Unmarshal(a.body, &c) // an error has none
	return c.Accepted
}

func oneBadItem(r *rig) finding {
	l := r.serve()
	l.apply(toyOf(""))
	good := fmt.Sprintf(`{"token":%q,"metrics":{"x":1}}`, l.decide("u", 1)[0])
	a := l.do("POST", "/v1/feedback", `{"items":[`+good+`,{"token":7}]}`)
	return found(a.status == 200 && a.accepted() == 1, "%d, %d accepted", a.status, a.accepted())
}

func brokenToken(r *rig) finding {
	l := r.serve()
	l.apply(toyOf(""))
	token := l.decide("u", 1)[0]
	a := l.do("POST", "/v1/feedback", itemsBody(token[:20]+"\n"+token[20:]))
	return found(a.accepted() == 0, "%d accepted", a.accepted())
}

func outdatedMatch(r *rig) finding {
	l := r.serve()
	l.apply(toyOf(""))
	tag := l.do("GET", "/v1/experiments/toy", "").header.Get("ETag")
	l.apply(toyOf("description: of somebody else\n"))
	match := tag
	if match == "" {
		match, tag = `"0"`, "none"
	} else {
		tag = "there"
	}
	a := l.do("PUT", "/v1/experiments/toy", toyOf("description: mine\n"),
		"Content-Type", "application/yaml", "If-Match", match)
	return found(a.status == 412 && tag == "there", "%d, ETag %s", a.status, tag)
}

func bulkEvaluation(r *rig) finding {
	l := r.serve()
	l.apply(toyOf("exposure: immediate\n"))
	var out struct{ Flags []any }
	l.must("POST", "/ofrep/v1/evaluate/flags", evaluateIt, nil)
	exposures := l.report().Health.Exposures.Accepted
	// A header that a service which does not know it ignores.
	a := l.do("POST", "/ofrep/v1/evaluate/flags", evaluateIt, "Flagd-Selector", "flagSetId=elsewhere")
	if err := json.Unmarshal(a.body, &out); err != nil {
		r.t.Fatal(err)
	}
	return found(len(out.Flags) == 0 && exposures == 0, "%d; %d", len(out.Flags), exposures)
}

func guardAction(r *rig) finding {
	l := r.serve()
	l.apply(`name: toy
arms: [{name: c, value: 0}, {name: a, value: 1}]
control: {arm: c, share: 0.5}
metrics: [{name: x, range: [0, 9]}]
objective: {goals: [{metric: x}]}
guardrails: [{metric: x, min: 8, hard: false, action: rollback}]
attribution_window: 1h
`)
	items := itemsBody(l.decide("u", 500)...)
	l.must("POST", "/v1/exposures", strings.ReplaceAll(items, `,"metrics":{"x":1}`, ""), nil)
	l.must("POST", "/v1/feedback", items, nil)
	var out struct {
		State      string
		Guardrails []struct{ Acted *struct{ Action string } }
	}
	events := 0
	until(5, func() bool {
		l.must("GET", "/v1/experiments/toy/report", "", &out)
		events = strings.Count(string(l.do("GET", "/v1/export", "").body), `"kind":"guardrail"`)
		return out.State == "rolled_back" && events > 0
	})
	acted := "nothing"
	if len(out.Guardrails) == 1 && out.Guardrails[0].Acted != nil {
		acted = out.Guardrails[0].Acted.Action
	}
	return found(out.State == "rolled_back" && events == 1 && acted == "rollback", "%s: %d; %s",
		out.State, events, acted)
}

// certificate writes a certificate with a serial number and its key.
func (r *rig) certificate(serial int64) (cert, key string) {
	r.t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		r.t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(serial), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, &k.PublicKey, k)
	if err != nil {
		r.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		r.t.Fatal(err)
	}
	cert = r.write("cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	key = r.write("key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	then := time.Unix(1e9+serial, 0) // whatever the file system's clock is
	for _, path := range []string{cert, key} {
		if err := os.Chtimes(path, then, then); err != nil {
			r.t.Fatal(err)
		}
	}
	return cert, key
}

func renewedCertificate(r *rig) finding {
	cert, key := r.certificate(1)
	l := r.serve("--tls-cert", cert, "--tls-key", key, "--log-level", "error")
	dial := func(suites ...uint16) (*http.Response, error) {
		tr := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, CipherSuites: suites}}
		if suites != nil {
			tr.TLSClientConfig.MaxVersion = tls.VersionTLS12
		}
		defer tr.CloseIdleConnections()
		resp, err := (&http.Client{Transport: tr, Timeout: 10 * time.Second}).Get(l.url + "/livez")
		if err == nil {
			_ = resp.Body.Close()
		}
		return resp, err
	}
	r.certificate(2)
	served, hsts := "not within 5 s", ""
	until(5, func() bool {
		resp, err := dial()
		if err != nil {
			r.t.Fatal(err)
		}
		hsts = resp.Header.Get("Strict-Transport-Security")
		if resp.TLS.PeerCertificates[0].SerialNumber.Int64() != 2 {
			return false
		}
		served = "yes"
		return true
	})
	if hsts != "" {
		hsts = "yes"
	} else {
		hsts = "no"
	}
	cbc := "refused"
	if _, err := dial(tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA); err == nil {
		cbc = "served"
	}
	return found(served == "yes" && hsts == "yes" && cbc == "refused", "%s; %s; %s", served, hsts, cbc)
}

// median sends requests by several senders at once for some time, and returns the median time of a
// request in milliseconds.
func (l *living) median(senders int, lasts time.Duration, send func(sender, n int)) float64 {
	var all sync.WaitGroup
	times := make([][]float64, senders)
	end := time.Now().Add(lasts)
	for i := range senders {
		all.Go(func() {
			for n := 0; time.Now().Before(end); n++ {
				begin := time.Now()
				send(i, n)
				times[i] = append(times[i], time.Since(begin).Seconds()*1000)
			}
		})
	}
	all.Wait()
	joined := slices.Sorted(slices.Values(slices.Concat(times...)))
	return joined[len(joined)/2]
}

func besideReaders(r *rig) finding {
	l := r.serve("--log-level", "error")
	l.apply(toyOf(""))
	var arms strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&arms, "  - {name: a%d, value: %d}\n", i, i)
	}
	wide := "name: wide\narms:\n" + arms.String() +
		"metrics: [{name: x, range: [0, 1]}]\nobjective: {goals: [{metric: x}]}\npolicy: {kind: ucb}\n"
	if a := l.do("PUT", "/v1/experiments/wide", wide, "Content-Type", "application/yaml"); a.status/100 != 2 {
		r.t.Fatalf("status %d: %s", a.status, a.body)
	}
	tokens := l.decide("u", 8)
	send := func(i, _ int) { l.do("POST", "/v1/feedback", itemsBody(tokens[i])) }
	alone := l.median(8, 3*time.Second, send)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 16 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
					l.do("GET", "/v1/experiments/wide/report", "")
				}
			}
		})
	}
	beside := l.median(8, 5*time.Second, send)
	close(done)
	readers.Wait()
	return found(beside < 10*alone+20, "%.1f ms; %.0f ms", alone, beside)
}

func creation(r *rig) finding {
	l := r.serve("--log-level", "error")
	made := 0
	create := func(int, int) {
		made++
		name := fmt.Sprint("toy", made)
		text := strings.Replace(toyOf(""), "toy", name, 1)
		if a := l.do("PUT", "/v1/experiments/"+name, text, "Content-Type", "application/yaml"); a.status/100 != 2 {
			r.t.Fatalf("status %d: %s", a.status, a.body)
		}
	}
	for made < 10 {
		create(0, 0)
	}
	few := l.median(1, time.Second, create)
	for begin := time.Now(); made < 3000 && time.Since(begin) < time.Minute; {
		create(0, 0)
	}
	others := made
	many := l.median(1, 2*time.Second, create)
	return found(many < 3*few, "%.1f ms; %.1f ms (beside %d)", few, many, others)
}
