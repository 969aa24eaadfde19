package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/api"
	"github.com/noregret/noregret/policy"
)

// Options configure a [Client]. Begin with [DefaultOptions].
type Options struct {
	// URL is the address of the service, such as "http://127.0.0.1:8430".
	URL string
	// Token is the access token; "" sends none.
	Token string
	// HTTP makes the requests. Nil means a new client with a timeout of 30 s for each request.
	HTTP *http.Client
	// Attempts is the maximum number of times a repeatable request is sent, at least 1.
	Attempts int
	// Pause is the delay before the first retry, above 0. It doubles with each further retry, up to
	// 30 s, and its second half is random.
	Pause time.Duration
}

// DefaultOptions returns options for the service at a URL: no token, 4 attempts, and 100 ms before
// the first retry.
func DefaultOptions(url string) Options {
	return Options{URL: url, Attempts: 4, Pause: 100 * time.Millisecond}
}

// Client calls the service. It is safe for concurrent use.
//
// A request that is safe to repeat (a decision, a report, feedback, which counts once) is retried
// with growing pauses after a network failure and after the statuses 429, 502, 503 and 504, until
// it has been sent Options.Attempts times or its context ends. A change of an experiment is sent
// once.
//
// A refused request returns an [*Error].
type Client struct {
	base     string
	token    string
	http     *http.Client
	attempts int
	pause    time.Duration
}

// New returns a client with the given options. It makes no request. It returns an error of code
// usage if the URL is not an http or https address or another option is out of range.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" {
		return nil, noregret.Errorf(noregret.Usage, "URL", "%q: want http://HOST:PORT or https://HOST:PORT", o.URL)
	}
	if o.Attempts < 1 {
		return nil, noregret.Errorf(noregret.Usage, "attempts", "%d: want at least 1", o.Attempts)
	}
	if o.Pause <= 0 {
		return nil, noregret.Errorf(noregret.Usage, "pause", "%v: want a length of time above 0", o.Pause)
	}
	c := &Client{
		base: strings.TrimRight(o.URL, "/"), token: o.Token, http: o.HTTP, attempts: o.Attempts,
		pause: o.Pause,
	}
	if c.http == nil {
		c.http = &http.Client{Timeout: 30 * time.Second}
	}
	return c, nil
}

// call describes one request.
type call struct {
	method, path string
	media        string
	body         []byte
	repeat       bool   // the request is safe to repeat
	tag          string // entity tag for If-None-Match, "" for none
	long         bool   // only the context limits the time it takes
}

// Error is the service's refusal of a request: its HTTP status and the error in its body.
type Error struct {
	// Status is the HTTP status code.
	Status int
	// Err has the code, the place and the message that the service gave.
	Err   *noregret.Error
	after time.Duration // from the Retry-After header, 0 for none
}

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) temporary() bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// send sends a request, with retries if it is repeatable, and returns the response. The caller
// closes its body.
func (c *Client) send(ctx context.Context, q call) (*http.Response, error) {
	p := pauses{c.pause, longestPause}
	for attempt := 1; ; attempt++ {
		resp, err := c.once(ctx, q)
		if err == nil {
			return resp, nil
		}
		e, refused := errors.AsType[*Error](err)
		if !q.repeat || attempt >= c.attempts || refused && !e.temporary() || ctx.Err() != nil || !p.wait(ctx, err) {
			return nil, err
		}
	}
}

// once sends a request once. A status other than 2xx and 304 becomes an [*Error].
func (c *Client) once(ctx context.Context, q call) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, q.method, c.base+q.path, bytes.NewReader(q.body))
	if err != nil {
		return nil, noregret.Errorf(noregret.Usage, "request", "%w", err)
	}
	if q.body != nil {
		r.Header.Set("Content-Type", q.media)
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if q.tag != "" {
		r.Header.Set("If-None-Match", q.tag)
	}
	h := c.http
	if q.long {
		copied := *h
		copied.Timeout = 0 // the context limits the time
		h = &copied
	}
	resp, err := h.Do(r)
	if err != nil {
		return nil, noregret.Errorf(noregret.Internal, c.base, "the service does not answer: %w", err)
	}
	if resp.StatusCode/100 == 2 || resp.StatusCode == http.StatusNotModified {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	return nil, refusal(resp)
}

// refusal reads the error from a response.
func refusal(resp *http.Response) error {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	e := &Error{Status: resp.StatusCode}
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 && n < 60 {
		e.after = time.Duration(n) * time.Second
	}
	var p api.Problem
	var flag struct { // the form of the remote evaluation protocol
		Details string `json:"errorDetails"`
	}
	switch {
	case json.Unmarshal(b, &p) == nil && p.Detail != "":
	case json.Unmarshal(b, &flag) == nil && flag.Details != "":
		p = api.Problem{Code: string(noregret.BadInput), Detail: flag.Details}
		if e.Status == http.StatusNotFound {
			p.Code = string(noregret.NotFound)
		}
	default:
		p = api.Problem{
			Code:   string(noregret.Internal),
			Detail: fmt.Sprintf("the service answered %s", resp.Status),
		}
	}
	e.Err = &noregret.Error{Code: noregret.Code(p.Code), Place: p.Place, Message: p.Detail}
	return e
}

// maxAnswer is the largest response body that is read, in bytes.
const maxAnswer = 128 << 20

// json sends in as a JSON body, unless it is nil, and decodes the JSON response into out, unless
// that is nil.
func (c *Client) json(ctx context.Context, q call, in, out any) error {
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return noregret.BadInputf("request", "cannot be encoded as JSON: %w", err)
		}
		q.body, q.media = b, "application/json"
	}
	resp, err := c.send(ctx, q)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return noregret.Errorf(noregret.Internal, c.base, "the answer broke off: %w", err)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return noregret.Errorf(noregret.Internal, c.base, "the answer cannot be decoded: %w", err)
	}
	return nil
}

// pathOf returns the path of an experiment's resource.
func pathOf(name, rest string) string { return "/v1/experiments/" + url.PathEscape(name) + rest }

// Decide returns a decision for each unit, in their order. Units must pass [policy.CheckUnit];
// otherwise no request is made.
func (c *Client) Decide(ctx context.Context, name string, units ...string) ([]api.Decision, error) {
	for i, u := range units {
		if err := policy.CheckUnit("units["+strconv.Itoa(i)+"]", u); err != nil {
			return nil, err
		}
	}
	return c.decide(ctx, name, units, len(units))
}

// DecideIn is [Client.Decide] for units with contexts, which a contextual policy asks for.
func (c *Client) DecideIn(ctx context.Context, name string, units ...api.UnitContext) ([]api.Decision, error) {
	for i := range units {
		if err := policy.CheckUnit("units["+strconv.Itoa(i)+"]", units[i].ID); err != nil {
			return nil, err
		}
	}
	return c.decide(ctx, name, units, len(units))
}

func (c *Client) decide(ctx context.Context, name string, units any, n int) ([]api.Decision, error) {
	var out api.Decisions
	err := c.json(ctx, call{method: "POST", path: pathOf(name, "/decide"), repeat: true},
		map[string]any{"units": units}, &out)
	if err == nil && len(out.Decisions) != n {
		err = noregret.Errorf(noregret.Internal, c.base, "%d decisions for %d units", len(out.Decisions), n)
	}
	return out.Decisions, err
}

// Exposures reports that units were shown their decisions; each item has the token of one. A nil
// error means that the report is durable. The result has the status of each item.
func (c *Client) Exposures(ctx context.Context, items ...api.FeedbackItem) (api.FeedbackResult, error) {
	return c.report(ctx, "/v1/exposures", items)
}

// Feedback reports metrics; each item has the token of a decision and the metrics of its unit. A
// nil error means that the report is durable. The result has the status of each item.
func (c *Client) Feedback(ctx context.Context, items ...api.FeedbackItem) (api.FeedbackResult, error) {
	return c.report(ctx, "/v1/feedback", items)
}

func (c *Client) report(ctx context.Context, path string, items []api.FeedbackItem) (out api.FeedbackResult,
	err error,
) {
	err = c.json(ctx, call{method: "POST", path: path, repeat: true}, map[string]any{"items": items}, &out)
	return out, err
}

// Aggregate reports sums over units. Reports with the same source and sequence number count once. A
// nil error means that the report is durable.
func (c *Client) Aggregate(ctx context.Context, a api.Aggregate) (out api.FeedbackResult, err error) {
	err = c.json(ctx, call{method: "POST", path: "/v1/aggregates", repeat: true}, a, &out)
	return out, err
}

// Policy fetches an experiment's policy. If digest is not empty, it waits up to wait for a policy
// with another digest, and returns nil without an error if there is none by then.
func (c *Client) Policy(ctx context.Context, name, digest string, wait time.Duration) (*policy.Policy, error) {
	q := call{method: "GET", path: pathOf(name, "/policy"), repeat: true, long: wait > 0}
	if digest != "" {
		q.tag, q.path = `"`+digest+`"`, q.path+"?wait="+wait.String()
		ctx2, cancel := context.WithTimeout(ctx, wait+30*time.Second)
		defer cancel()
		ctx = ctx2
	}
	resp, err := c.send(ctx, q)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusNotModified {
		return nil, nil
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, noregret.Errorf(noregret.Internal, c.base, "the answer broke off: %w", err)
	}
	return policy.Parse(b)
}

// Experiments lists the experiments.
func (c *Client) Experiments(ctx context.Context) ([]api.Summary, error) {
	var out struct {
		Experiments []api.Summary `json:"experiments"`
	}
	err := c.json(ctx, call{method: "GET", path: "/v1/experiments", repeat: true}, nil, &out)
	return out.Experiments, err
}

// Deleted lists the experiments that were deleted and can be restored.
func (c *Client) Deleted(ctx context.Context) ([]api.Summary, error) {
	var out struct {
		Experiments []api.Summary `json:"experiments"`
	}
	err := c.json(ctx, call{method: "GET", path: "/v1/experiments?deleted=true", repeat: true}, nil, &out)
	return out.Experiments, err
}

// Report returns an experiment's report.
func (c *Client) Report(ctx context.Context, name string) (*api.Report, error) {
	var out api.Report
	err := c.json(ctx, call{method: "GET", path: pathOf(name, "/report"), repeat: true}, nil, &out)
	return &out, err
}

// ReportPage returns an experiment's report with the arms of a page only. Its Next is the page's
// last arm if there are further ones.
func (c *Client) ReportPage(ctx context.Context, name string, page api.Page) (*api.Report, error) {
	q := url.Values{}
	if page.After != "" {
		q.Set("after", page.After)
	}
	if page.Limit != 0 {
		q.Set("limit", strconv.Itoa(page.Limit))
	}
	var out api.Report
	err := c.json(ctx, call{method: "GET", path: pathOf(name, "/report?"+q.Encode()), repeat: true}, nil, &out)
	return &out, err
}

// Explain returns the reasons for the decision with the given token.
func (c *Client) Explain(ctx context.Context, name, token string) (*api.Explanation, error) {
	return c.ExplainIn(ctx, name, token, nil)
}

// ExplainIn is [Client.Explain] for a decision in a context; nil means that of the unit's exposure,
// which the service has until the window of its version has closed.
func (c *Client) ExplainIn(ctx context.Context, name, token string,
	context json.RawMessage,
) (*api.Explanation, error) {
	v := url.Values{"token": {token}}
	if context != nil {
		v.Set("context", string(context))
	}
	var out api.Explanation
	err := c.json(ctx, call{method: "GET", path: pathOf(name, "/explain?"+v.Encode()), repeat: true}, nil, &out)
	return &out, err
}

// Change pauses, resumes or rolls back an experiment: what is "pause", "resume" or "rollback". The
// reason is recorded in the log.
func (c *Client) Change(ctx context.Context, name, what, reason string) (out api.Summary, err error) {
	err = c.json(ctx, call{method: "POST", path: pathOf(name, "/"+what)}, map[string]string{"reason": reason}, &out)
	return out, err
}

// Conclude ends an experiment with a mixture that is served for good: the shares by arm that are
// given, or, for nil, the mixture that the policy would deploy. The reason is recorded in the log.
func (c *Client) Conclude(ctx context.Context, name string, mixture map[string]float64,
	reason string,
) (out api.Summary, err error) {
	in := map[string]any{"reason": reason}
	if mixture != nil {
		in["mixture"] = mixture
	}
	err = c.json(ctx, call{method: "POST", path: pathOf(name, "/conclude")}, in, &out)
	return out, err
}

// Veto gives an arm no share until the veto is lifted, which it does itself if lift is true. The
// reason is recorded in the log.
func (c *Client) Veto(ctx context.Context, name, arm string, lift bool, reason string) (out api.Summary, err error) {
	err = c.json(ctx, call{method: "POST", path: pathOf(name, "/veto")},
		map[string]any{"arm": arm, "lift": lift, "reason": reason}, &out)
	return out, err
}

// Delete deletes an experiment. The service keeps it for a grace time, in which [Client.Restore]
// brings it back; with now set, or if the service has no such time, it is deleted for good, also
// one that is kept. Its events stay in the log. The reason is recorded there.
func (c *Client) Delete(ctx context.Context, name, reason string, now bool) error {
	return c.json(ctx, call{method: "DELETE", path: pathOf(name, "")},
		map[string]any{"reason": reason, "now": now}, nil)
}

// Restore brings back an experiment that was deleted, as it was then. The reason is recorded in the
// log.
func (c *Client) Restore(ctx context.Context, name, reason string) (out api.Summary, err error) {
	return c.Change(ctx, name, "restore", reason)
}

// State returns the service's position in its log and the digest of its state.
func (c *Client) State(ctx context.Context) (out api.StateName, err error) {
	err = c.json(ctx, call{method: "GET", path: "/v1/state", repeat: true}, nil, &out)
	return out, err
}

// Snapshot returns the oldest state that the service's log can be replayed from, in the form that
// experiment.State.UnmarshalBinary reads. It returns nil if the log has all events.
func (c *Client) Snapshot(ctx context.Context) ([]byte, error) {
	resp, err := c.send(ctx, call{method: "GET", path: "/v1/snapshot", repeat: true, long: true})
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(resp.Body)
	return b, errors.Join(err, resp.Body.Close())
}

// Alerts returns what is wrong with the service now, and how its webhook is.
func (c *Client) Alerts(ctx context.Context) (out api.Alerts, err error) {
	err = c.json(ctx, call{method: "GET", path: "/v1/alerts", repeat: true}, nil, &out)
	return out, err
}

// TestAlert sends a test alert to the service's webhook and waits until it has taken it. The access
// token needs the role admin.
func (c *Client) TestAlert(ctx context.Context) error {
	return c.json(ctx, call{method: "POST", path: "/v1/alerts/test"}, nil, nil)
}

// Audit returns a page of the audit trail, the newest entry first: of one experiment or, for an
// empty name, of all, before a position or, for 0, from the end. The limit is at most 1000, 0 for
// 100. The access token needs the role admin.
func (c *Client) Audit(ctx context.Context, name string, before uint64, limit int) (out api.Audit, err error) {
	v := url.Values{}
	if name != "" {
		v.Set("experiment", name)
	}
	if before > 0 {
		v.Set("before", strconv.FormatUint(before, 10))
	}
	if limit > 0 {
		v.Set("limit", strconv.Itoa(limit))
	}
	err = c.json(ctx, call{method: "GET", path: "/v1/audit?" + v.Encode(), repeat: true}, nil, &out)
	return out, err
}

// Backup returns a backup of the service, as a tar file that server.Restore reads. It is secret. A
// backup that breaks off has no SHA256SUMS at its end. The caller closes the reader. The access
// token needs the role admin.
func (c *Client) Backup(ctx context.Context) (io.ReadCloser, error) {
	resp, err := c.send(ctx, call{method: "GET", path: "/v1/backup", repeat: true, long: true})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// Export returns the log as JSON lines, starting at position from; 0 means the first position kept.
// An empty name means the events of all experiments. The caller closes the reader.
func (c *Client) Export(ctx context.Context, from uint64, name string) (io.ReadCloser, error) {
	v := url.Values{}
	if from > 0 {
		v.Set("from", strconv.FormatUint(from, 10))
	}
	if name != "" {
		v.Set("experiment", name)
	}
	resp, err := c.send(ctx, call{method: "GET", path: "/v1/export?" + v.Encode(), repeat: true, long: true})
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}
