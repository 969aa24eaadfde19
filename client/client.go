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
	"github.com/noregret/noregret/policy"
)

// Options are what [New] makes a client of.
type Options struct {
	// URL is the service's: "http://127.0.0.1:8430".
	URL string
	// Token is the access token, "" for a service that asks for none.
	Token string
	// HTTP makes the requests; nil is a client of its own with a time limit of 30 s for each.
	HTTP *http.Client
	// Attempts is how often a request that can be repeated is sent before its error is returned:
	// default 4.
	Attempts int
	// Pause is the first one between attempts, doubled each time, with a random half: default 100
	// ms.
	Pause time.Duration
}

// Client calls the service. It is safe for concurrent use. Requests that may be repeated without
// harm (decisions, reports, feedback, which counts once) are sent again after failures of the
// network and the statuses 429, 502, 503 and 504, with growing pauses, as long as the context
// allows; changes of experiments are not.
type Client struct {
	base     string
	token    string
	http     *http.Client
	attempts int
	pause    time.Duration
}

// New validates the options.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" {
		return nil, noregret.Errorf(noregret.Usage, "URL", "%q: want http://HOST:PORT or https://HOST:PORT", o.URL)
	}
	if o.Attempts < 0 || o.Pause < 0 {
		return nil, noregret.Errorf(noregret.Usage, "attempts", "%d with pauses of %v: want at least 1 and 0s",
			o.Attempts, o.Pause)
	}
	c := &Client{
		base: strings.TrimRight(o.URL, "/"), token: o.Token, http: o.HTTP, attempts: o.Attempts,
		pause: o.Pause,
	}
	if c.http == nil {
		c.http = &http.Client{Timeout: 30 * time.Second}
	}
	if c.attempts == 0 {
		c.attempts = 4
	}
	if c.pause == 0 {
		c.pause = 100 * time.Millisecond
	}
	return c, nil
}

// call is a request.
type call struct {
	method, path string
	media        string
	body         []byte
	repeat       bool // it may be sent again
	tag          string
	long         bool // it may take longer than the client's time limit
}

// Error is what the service refused: the module's error with the HTTP status.
type Error struct {
	Status int
	Err    *noregret.Error
	after  time.Duration
}

// Error implements error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the module's error.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) temporary() bool {
	switch e.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// send sends a request, again where that helps, and returns the answer, whose body the caller
// closes.
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
		copied.Timeout = 0 // the context bounds it
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

// refusal is the error that an answer tells.
func refusal(resp *http.Response) error {
	b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	e := &Error{Status: resp.StatusCode}
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 && n < 60 {
		e.after = time.Duration(n) * time.Second
	}
	var p policy.Problem
	if json.Unmarshal(b, &p) != nil || p.Detail == "" {
		p = policy.Problem{
			Code:   string(noregret.Internal),
			Detail: fmt.Sprintf("the service answered %s", resp.Status),
		}
	}
	e.Err = &noregret.Error{Code: noregret.Code(p.Code), Place: p.Place, Message: p.Detail}
	return e
}

// maxAnswer bounds what is read of an answer.
const maxAnswer = 128 << 20

// json sends a request with a JSON body (nil for none) and reads the JSON answer into out (nil for
// none).
func (c *Client) json(ctx context.Context, q call, in, out any) error {
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return noregret.BadInputf("request", "it cannot be written as JSON: %w", err)
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
		return noregret.Errorf(noregret.Internal, c.base, "the answer cannot be read: %w", err)
	}
	return nil
}

func pathOf(name, rest string) string { return "/v1/experiments/" + url.PathEscape(name) + rest }

// Decide asks for an arm for each unit ([policy.CheckUnit]).
func (c *Client) Decide(ctx context.Context, name string, units ...string) ([]policy.Decision, error) {
	for i, u := range units {
		if err := policy.CheckUnit("units["+strconv.Itoa(i)+"]", u); err != nil {
			return nil, err
		}
	}
	var out struct {
		Decisions []policy.Decision `json:"decisions"`
	}
	err := c.json(ctx, call{method: "POST", path: pathOf(name, "/decide"), repeat: true},
		map[string]any{"units": units}, &out)
	if err == nil && len(out.Decisions) != len(units) {
		err = noregret.Errorf(noregret.Internal, c.base, "%d decisions for %d units", len(out.Decisions), len(units))
	}
	return out.Decisions, err
}

// Exposures reports that the units of tokens saw what was decided. A nil error means that it is
// durable; the result says what each item counted for.
func (c *Client) Exposures(ctx context.Context, items ...policy.FeedbackItem) (policy.FeedbackResult, error) {
	return c.report(ctx, "/v1/exposures", items)
}

// Feedback reports metrics of the units of tokens. A nil error means that it is durable; the result
// say what each item counted for.
func (c *Client) Feedback(ctx context.Context, items ...policy.FeedbackItem) (policy.FeedbackResult, error) {
	return c.report(ctx, "/v1/feedback", items)
}

func (c *Client) report(ctx context.Context, path string, items []policy.FeedbackItem) (out policy.FeedbackResult,
	err error,
) {
	err = c.json(ctx, call{method: "POST", path: path, repeat: true}, map[string]any{"items": items}, &out)
	return out, err
}

// Aggregate reports sums. Sent again with the same source and sequence number it counts once.
func (c *Client) Aggregate(ctx context.Context, a policy.Aggregate) (out policy.FeedbackResult, err error) {
	err = c.json(ctx, call{method: "POST", path: "/v1/aggregates", repeat: true}, a, &out)
	return out, err
}

// Policy fetches an experiment's policy. With the digest of the one at hand it waits up to wait for
// a change, and returns nil if there is none.
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

// Apply creates an experiment or changes it: text is a definition, YAML or JSON, of that name.
func (c *Client) Apply(ctx context.Context, name string, text []byte) (out policy.Applied, err error) {
	err = c.json(ctx, call{method: "PUT", path: pathOf(name, ""), body: text, media: "application/yaml"}, nil, &out)
	return out, err
}

// Experiments lists the experiments.
func (c *Client) Experiments(ctx context.Context) ([]policy.Summary, error) {
	var out struct {
		Experiments []policy.Summary `json:"experiments"`
	}
	err := c.json(ctx, call{method: "GET", path: "/v1/experiments", repeat: true}, nil, &out)
	return out.Experiments, err
}

// Report fetches an experiment's report.
func (c *Client) Report(ctx context.Context, name string) (*policy.Report, error) {
	var out policy.Report
	err := c.json(ctx, call{method: "GET", path: pathOf(name, "/report"), repeat: true}, nil, &out)
	return &out, err
}

// Explain asks why a decision was what it was.
func (c *Client) Explain(ctx context.Context, name, token string) (*policy.Explanation, error) {
	var out policy.Explanation
	err := c.json(ctx, call{method: "GET", path: pathOf(name, "/explain?token="+url.QueryEscape(token)), repeat: true},
		nil, &out)
	return &out, err
}

// Change pauses, resumes or rolls back an experiment: what is "pause", "resume" or "rollback".
func (c *Client) Change(ctx context.Context, name, what, reason string) (out policy.Summary, err error) {
	err = c.json(ctx, call{method: "POST", path: pathOf(name, "/"+what)}, map[string]string{"reason": reason}, &out)
	return out, err
}

// Delete removes an experiment. Its events stay in the log.
func (c *Client) Delete(ctx context.Context, name string) error {
	return c.json(ctx, call{method: "DELETE", path: pathOf(name, "")}, nil, nil)
}

// State is the service's position in the log, and the digest of its state.
func (c *Client) State(ctx context.Context) (out policy.StateName, err error) {
	err = c.json(ctx, call{method: "GET", path: "/v1/state", repeat: true}, nil, &out)
	return out, err
}

// Snapshot is the state from which the most of the service's log can be folded again: nil where all
// events are there. UnmarshalBinary of experiment.State reads it.
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

// Export opens the log as JSON lines, from a position on (0: the first one kept), of one experiment
// or, with "", of all. The caller closes it.
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
