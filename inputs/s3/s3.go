package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/noregret/noregret"
)

const (
	attempts    = 6                  // of one request without a byte of progress
	partTimeout = 2 * time.Minute    // of one request
	noHash      = "UNSIGNED-PAYLOAD" // requests have no body
)

// Config says where the store is and who asks. The zero value is not complete: see [Environment].
type Config struct {
	Region   string // of the bucket, as "eu-central-1"
	Endpoint string // address of another store than AWS's, as "http://127.0.0.1:9000"; "" for AWS's
	// Credentials; requests are not signed if KeyID is empty.
	KeyID, Secret, Session string
	// PartSize is how many bytes one request asks for.
	PartSize int64
	// Pause waits before a request is tried again, for the nth time from 1.
	Pause func(ctx context.Context, n int) error
}

// Environment returns the configuration of the environment variables that AWS's programs read:
// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION or AWS_DEFAULT_REGION,
// and AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL. Parts are 8 MiB. Pauses double from 200 ms.
func Environment(getenv func(string) string) (Config, error) {
	first := func(names ...string) string {
		for _, n := range names {
			if v := getenv(n); v != "" {
				return v
			}
		}
		return ""
	}
	c := Config{
		Region:   first("AWS_REGION", "AWS_DEFAULT_REGION"),
		Endpoint: first("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
		KeyID:    getenv("AWS_ACCESS_KEY_ID"), Secret: getenv("AWS_SECRET_ACCESS_KEY"),
		Session:  getenv("AWS_SESSION_TOKEN"),
		PartSize: 8 << 20,
		Pause:    pause,
	}
	if (c.KeyID == "") != (c.Secret == "") {
		return c, noregret.Errorf(noregret.Usage, "", "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: one is set "+
			"and the other is not; set both, or none for a public bucket")
	}
	if c.Region == "" && c.Endpoint == "" {
		return c, noregret.Errorf(noregret.Usage, "", "AWS_REGION is not set: name the region of the bucket, as "+
			"eu-central-1")
	}
	if c.Region == "" {
		c.Region = "us-east-1" // which other stores expect
	}
	return c, nil
}

// pause waits 200 ms, and twice as long each time.
func pause(ctx context.Context, n int) error {
	t := time.NewTimer(200 * time.Millisecond << min(n-1, 6))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Object is an object that is read from its first byte to its last. It is not safe for concurrent
// use.
type Object struct {
	ctx    context.Context
	name   string
	config Config
	url    *url.URL
	client *http.Client

	etag string
	size int64
	at   int64  // the byte after those in part
	part []byte // what has been received and not been read
	buf  []byte
}

// Open finds the object s3://BUCKET/KEY. Reading stops when ctx ends.
func Open(ctx context.Context, name string, c Config) (*Object, error) {
	if c.PartSize < 1 || c.Pause == nil {
		return nil, noregret.Errorf(noregret.Usage, "", "a configuration without the size of parts or the pause")
	}
	u, err := c.address(name)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = time.Minute
	o := &Object{ctx: ctx, name: name, config: c, url: u, size: -1, client: &http.Client{
		Transport: transport,
		// A signature is for one host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if err := o.fetch(); err != nil {
		return nil, err
	}
	return o, nil
}

// address returns the URL of an object: the bucket is a part of the host at AWS, if it can be, and
// of the path elsewhere.
func (c Config) address(name string) (*url.URL, error) {
	rest, ok := strings.CutPrefix(name, "s3://")
	bucket, key, slash := strings.Cut(rest, "/")
	if !ok || !slash || bucket == "" || key == "" || strings.ContainsAny(bucket, "?#@:%\\") {
		return nil, noregret.Errorf(noregret.Usage, name, "not the name of an object, as s3://bucket/folder/file.csv")
	}
	u := &url.URL{Scheme: "https", Host: "s3." + c.Region + ".amazonaws.com"}
	switch {
	case c.Endpoint != "":
		e, err := url.Parse(c.Endpoint)
		if err != nil || e.Scheme != "http" && e.Scheme != "https" || e.Host == "" || e.RawQuery != "" ||
			e.User != nil {
			return nil, noregret.Errorf(noregret.Usage, "", "the endpoint %q is no address, as http://127.0.0.1:9000",
				c.Endpoint)
		}
		u.Scheme, u.Host, u.Path = e.Scheme, e.Host, strings.TrimSuffix(e.Path, "/")+"/"+bucket
	case strings.Contains(bucket, "."): // no certificate is for it
		u.Path = "/" + bucket
	default:
		u.Host = bucket + "." + u.Host
	}
	u.Path += "/" + key
	u.RawPath = escape(u.Path)
	return u, nil
}

// escape escapes a path as signatures of S3 need it: all but letters, digits, "-._~" and slashes.
func escape(path string) string {
	var b strings.Builder
	for _, c := range []byte(path) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~/", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Size returns the size of the object in bytes.
func (o *Object) Size() int64 { return o.size }

// Read implements [io.Reader].
func (o *Object) Read(b []byte) (int, error) {
	if len(o.part) == 0 {
		if o.at >= o.size {
			return 0, io.EOF
		}
		if err := o.fetch(); err != nil {
			return 0, err
		}
	}
	n := copy(b, o.part)
	o.part = o.part[n:]
	return n, nil
}

// fetch receives the next part, with as many requests as it takes.
func (o *Object) fetch() error {
	o.buf = o.buf[:0]
	var last error
	for failed := 0; failed < attempts; {
		if failed > 0 {
			if err := o.config.Pause(o.ctx, failed); err != nil {
				return err
			}
		}
		n, again, err := o.request()
		switch {
		case o.ctx.Err() != nil:
			return o.ctx.Err()
		case err == nil:
			o.part = o.buf
			return nil
		case !again:
			return err
		case n > 0:
			failed = 0
		}
		failed++
		last = err
	}
	return noregret.Errorf(noregret.Internal, o.name, "byte %d: the store did not answer %d times in a row: %w", o.at,
		attempts, last)
}

// request asks for what the current part lacks and appends it to buf. It returns how many bytes it
// has received, also with an error, and whether to try again.
func (o *Object) request() (n int, again bool, err error) {
	ctx, cancel := context.WithTimeout(o.ctx, partTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.url.String(), http.NoBody)
	if err != nil {
		return 0, false, noregret.Errorf(noregret.Usage, o.name, "%w", err)
	}
	req.URL.RawPath = o.url.RawPath
	end := o.at + o.config.PartSize - int64(len(o.buf))
	if o.size >= 0 {
		end = min(end, o.size)
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", o.at, end-1))
	if o.etag != "" {
		req.Header.Set("If-Match", o.etag)
	}
	if o.config.KeyID != "" {
		req.Header.Set("X-Amz-Content-Sha256", noHash)
		who := aws.Credentials{
			AccessKeyID: o.config.KeyID, SecretAccessKey: o.config.Secret, SessionToken: o.config.Session,
		}
		err := v4.NewSigner().SignHTTP(ctx, who, req, noHash, "s3", o.config.Region, time.Now(),
			func(s *v4.SignerOptions) { s.DisableURIPathEscaping = true })
		if err != nil {
			return 0, false, noregret.Errorf(noregret.Internal, o.name, "the request cannot be signed: %w", err)
		}
	}
	res, err := o.client.Do(req)
	if err != nil {
		return 0, true, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusPartialContent {
		again, err := o.refused(res)
		return 0, again, err
	}
	if err := o.check(res, end); err != nil {
		return 0, false, err
	}
	want := int(min(end, o.size) - o.at)
	old := len(o.buf)
	if cap(o.buf) < old+want {
		o.buf = append(make([]byte, 0, old+want), o.buf...)
	}
	n, err = io.ReadFull(res.Body, o.buf[old:old+want])
	o.buf, o.at = o.buf[:old+n], o.at+int64(n)
	return n, true, err
}

// check compares what the store says about a part with what was asked for.
func (o *Object) check(res *http.Response, end int64) error {
	var from, to, size int64
	said := res.Header.Get("Content-Range")
	if _, err := fmt.Sscanf(said, "bytes %d-%d/%d", &from, &to, &size); err != nil || from != o.at || size <= from ||
		to != min(end, size)-1 || o.size >= 0 && size != o.size {
		return noregret.Errorf(noregret.Internal, o.name, "the store answered with %q to a request for the bytes %d "+
			"to %d", said, o.at, end-1)
	}
	etag := res.Header.Get("ETag")
	if etag == "" || strings.HasPrefix(etag, "W/") {
		return noregret.Errorf(noregret.Internal, o.name, "the store names no version of the object (ETag %q), so "+
			"that nobody could tell whether its parts are of one", etag)
	}
	if o.etag != "" && etag != o.etag {
		return o.changed()
	}
	o.etag, o.size = etag, size
	return nil
}

func (o *Object) changed() error {
	return noregret.BadInputf(o.name, "the object was changed while it was read, at byte %d of %d", o.at, o.size)
}

// refused returns the error of a response without the part, and whether another request may help.
func (o *Object) refused(res *http.Response) (again bool, err error) {
	var fault struct{ Code, Message string }
	body, _ := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	_ = xml.Unmarshal(body, &fault) // not all stores say more than the status
	text := strings.TrimSpace(res.Status + " " + fault.Code)
	if fault.Message != "" {
		text += ": " + fault.Message
	}
	status := res.StatusCode
	switch {
	case status == http.StatusOK && res.ContentLength == 0 && o.size < 0:
		o.size = 0 // as some stores answer for an object without bytes
		return false, nil
	case status == http.StatusRequestedRangeNotSatisfiable && o.size < 0:
		// An object without bytes has no ranges.
		if said := res.Header.Get("Content-Range"); said == "" || said == "bytes */0" {
			o.size = 0
			return false, nil
		}
	case status == http.StatusOK:
		return false, noregret.Errorf(noregret.Internal, o.name, "the store does not answer with ranges")
	case status == http.StatusPreconditionFailed:
		return false, o.changed()
	case status == http.StatusNotFound:
		return false, noregret.Errorf(noregret.NotFound, o.name, "there is no such object (%s)", text)
	case status >= 500, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout:
		return true, errors.New(text)
	case status >= 300 && status < 400, fault.Code == "AuthorizationHeaderMalformed":
		return false, noregret.Errorf(noregret.Usage, o.name, "the bucket is in another region than %s (%s): set "+
			"AWS_REGION", o.config.Region, text)
	case status == http.StatusForbidden && o.config.KeyID == "":
		text += "; no credentials are set (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)"
	}
	return false, noregret.Errorf(noregret.Internal, o.name, "the store refused: %s", text)
}
