package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/noregret/noregret"
)

// settings are what the endpoint and the environment say.
type settings struct {
	endpoint string // a URL with a path
	headers  map[string]string
	timeout  time.Duration
	gzip     bool
	tls      *tls.Config // nil for the system's
}

// variables reads the variables of OTLP: those for traces come before those for all signals.
type variables func(string) string

// get returns the name and the value of a variable such as "HEADERS", trimmed; "" for none.
func (v variables) get(name string) (full, value string) {
	for _, prefix := range []string{"OTEL_EXPORTER_OTLP_TRACES_", "OTEL_EXPORTER_OTLP_"} {
		if value := strings.TrimSpace(v(prefix + name)); value != "" {
			return prefix + name, value
		}
	}
	return "OTEL_EXPORTER_OTLP_" + name, ""
}

// Configured reports whether the environment names a collector of traces.
func Configured(getenv func(string) string) bool {
	_, value := variables(getenv).get("ENDPOINT")
	return value != ""
}

// refuse returns an error for the value of a variable.
func refuse(name, value, want string) error {
	return noregret.Errorf(noregret.Usage, name, "%.80q: want %s", value, want)
}

// readSettings reads the endpoint and the environment.
func readSettings(endpoint string, getenv func(string) string) (s settings, err error) {
	v := variables(getenv)
	if s.endpoint, err = v.endpoint(endpoint); err != nil {
		return s, err
	}
	if s.headers, err = v.headers(); err != nil {
		return s, err
	}
	s.timeout = 10 * time.Second
	if name, value := v.get("TIMEOUT"); value != "" {
		ms, err := strconv.ParseInt(value, 10, 32)
		if err != nil || ms <= 0 {
			return s, refuse(name, value, "a number of milliseconds from 1")
		}
		s.timeout = time.Duration(ms) * time.Millisecond
	}
	switch name, value := v.get("COMPRESSION"); value {
	case "", "none":
	case "gzip":
		s.gzip = true
	default:
		return s, refuse(name, value, "gzip or none")
	}
	if name, value := v.get("PROTOCOL"); value != "" && value != "http/protobuf" {
		return s, refuse(name, value, "http/protobuf: no other protocol is built in")
	}
	s.tls, err = v.tls()
	return s, err
}

// endpoint returns the URL of the collector. A variable for all signals holds the base of their
// paths; the flag and the variable for traces hold the whole URL.
func (v variables) endpoint(flag string) (string, error) {
	name, value, whole := "the endpoint", flag, true
	if value == "" {
		name, value = v.get("ENDPOINT")
		whole = strings.Contains(name, "TRACES")
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", refuse(name, value, "the URL of a collector, such as http://127.0.0.1:4318")
	}
	const path = "/v1/traces"
	switch {
	case !whole:
		u = u.JoinPath(path)
	case flag != "" && strings.Trim(u.Path, "/") == "":
		u.Path = path
	case u.Path == "":
		u.Path = "/"
	}
	return u.String(), nil
}

// What HTTP allows in the name of a header and in its value.
var (
	headerName  = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
	headerValue = regexp.MustCompile(`^[^\x00-\x08\x0a-\x1f\x7f]*$`)
)

// headers reads HEADERS: key=value pairs, separated by commas, whose values may be escaped as in
// URLs.
func (v variables) headers() (map[string]string, error) {
	name, value := v.get("HEADERS")
	headers := map[string]string{}
	for pair := range strings.SplitSeq(value, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		key, text, ok := strings.Cut(pair, "=")
		key = strings.TrimSpace(key)
		text, err := url.PathUnescape(strings.TrimSpace(text))
		if !ok || err != nil || !headerName.MatchString(key) || !headerValue.MatchString(text) {
			// The pair may hold a secret, so that only its key is printed.
			return nil, refuse(name, key, "pairs key=value, separated by commas, with values escaped as in URLs")
		}
		headers[http.CanonicalHeaderKey(key)] = text
	}
	return headers, nil
}

// tls reads the files of certificates.
func (v variables) tls() (*tls.Config, error) {
	var c *tls.Config
	if name, file := v.get("CERTIFICATE"); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, refuse(name, file, "a file that can be read: "+err.Error())
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, refuse(name, file, "a file of certificates in PEM form")
		}
		c = &tls.Config{RootCAs: pool}
	}
	name, file := v.get("CLIENT_CERTIFICATE")
	_, key := v.get("CLIENT_KEY")
	if file == "" && key == "" {
		return c, nil
	}
	pair, err := tls.LoadX509KeyPair(file, key)
	if err != nil {
		return nil, refuse(name, file, "a certificate whose key OTEL_EXPORTER_OTLP_CLIENT_KEY names: "+err.Error())
	}
	if c == nil {
		c = &tls.Config{}
	}
	c.Certificates = []tls.Certificate{pair}
	return c, nil
}
