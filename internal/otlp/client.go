package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// Limits of an upload, those of OpenTelemetry's clients.
const (
	maxAnswer    = 64 << 10         // bytes that are read of an answer
	firstWait    = 5 * time.Second  // before the second try
	longestWait  = 30 * time.Second // between tries
	longestTries = time.Minute      // after that the spans are lost
)

// Client sends spans to a collector. It implements otlptrace.Client and is safe for concurrent use.
type Client struct {
	settings
	http *http.Client
	stop context.CancelFunc // ends uploads on the way
	done context.Context
}

// New returns a client for the collector at endpoint, a URL such as "http://127.0.0.1:4318". An
// endpoint without a path gets the path "/v1/traces". The variables that the OpenTelemetry
// specification names for OTLP are asked of getenv: OTEL_EXPORTER_OTLP_ENDPOINT (if endpoint is
// ""), _HEADERS, _TIMEOUT, _COMPRESSION, _CERTIFICATE, _CLIENT_CERTIFICATE, _CLIENT_KEY and
// _PROTOCOL, and before each of them the one for traces, such as OTEL_EXPORTER_OTLP_TRACES_HEADERS.
// The error names the variable that is wrong.
func New(endpoint string, getenv func(string) string) (*Client, error) {
	s, err := readSettings(endpoint, getenv)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if s.tls != nil {
		transport.TLSClientConfig = s.tls
	}
	c := &Client{settings: s, http: &http.Client{Transport: transport, Timeout: s.timeout}}
	c.done, c.stop = context.WithCancel(context.Background())
	return c, nil
}

// Start implements otlptrace.Client. It does nothing: a connection is made when it is needed.
func (c *Client) Start(context.Context) error { return nil }

// Stop ends the uploads that are on the way and closes the connections.
func (c *Client) Stop(context.Context) error {
	c.stop()
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces sends spans. It tries again for a minute if the collector cannot be reached or
// answers 429, 502, 503 or 504. It waits as long as the collector's Retry-After says, otherwise
// exponentially longer. An error says that spans are lost.
func (c *Client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// TracesData has the same encoding as the service's ExportTraceServiceRequest: one field,
	// number 1.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return fmt.Errorf("encoding spans: %w", err)
	}
	if c.gzip {
		if body, err = compress(body); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.done, cancel)()
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = firstWait, longestWait
	_, err = backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, c.send(ctx, body) },
		backoff.WithBackOff(wait), backoff.WithMaxElapsedTime(longestTries))
	return err
}

// send makes one request. The error is permanent if another try would fail alike.
func (c *Client) send(ctx context.Context, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return backoff.Permanent(err)
	}
	for k, v := range c.headers {
		r.Header.Set(k, v)
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	if c.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return err
	}
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		err := fmt.Errorf("%s: %s: %.200q", c.endpoint, answer.Status, text)
		if seconds, e := strconv.Atoi(answer.Header.Get("Retry-After")); e == nil && seconds >= 0 {
			err = errors.Join(err, backoff.RetryAfter(seconds))
		}
		return err
	}
	if answer.StatusCode/100 != 2 {
		return backoff.Permanent(fmt.Errorf("%s: %s: %.200q", c.endpoint, answer.Status, text))
	}
	if answer.Header.Get("Content-Type") != "application/x-protobuf" {
		return nil
	}
	if n, why := refusedSpans(text); n != 0 || why != "" {
		return backoff.Permanent(fmt.Errorf("%s: the collector refused %d spans: %.200q", c.endpoint, n, why))
	}
	return nil
}

// refusedSpans returns what an ExportTraceServiceResponse says of spans that were refused: its
// field 1 is a message with their number in field 1 and a text in field 2. Bytes of another form
// say nothing.
func refusedSpans(answer []byte) (n int64, why string) {
	eachField(answer, func(number protowire.Number, _ uint64, message []byte) {
		if number != 1 {
			return
		}
		eachField(message, func(number protowire.Number, value uint64, text []byte) {
			switch number {
			case 1:
				n = int64(value)
			case 2:
				why = string(text)
			}
		})
	})
	return n, why
}

// eachField calls f with each field of a message that is a varint or has a length.
func eachField(b []byte, f func(number protowire.Number, value uint64, bytes []byte)) {
	for len(b) > 0 {
		number, kind, tag := protowire.ConsumeTag(b)
		_, _, n := protowire.ConsumeField(b)
		if n < 0 {
			return
		}
		switch kind {
		case protowire.VarintType:
			v, _ := protowire.ConsumeVarint(b[tag:n])
			f(number, v, nil)
		case protowire.BytesType:
			v, _ := protowire.ConsumeBytes(b[tag:n])
			f(number, 0, v)
		}
		b = b[n:]
	}
}

// compress returns b, compressed by gzip.
func compress(b []byte) ([]byte, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
