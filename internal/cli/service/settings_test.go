package service

import (
	"bytes"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/noregret/noregret"
	"github.com/noregret/noregret/internal/cli/command"
	"github.com/noregret/noregret/server"
)

// configure parses a command line of serve with a file and variables.
func configure(t *testing.T, file string, variables []string, args ...string) (*serveOptions, *pflag.FlagSet, error) {
	t.Helper()
	o := &serveOptions{
		Config: server.DefaultConfig("data"), listening: newListening("127.0.0.1:8430"),
	}
	f := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	o.AddFlags(f)
	o.environment = func() []string { return variables }
	if file != "" {
		t.Chdir(t.TempDir())
		if err := os.WriteFile("serve.yaml", []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", "serve.yaml")
	}
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}
	return o, f, command.Validate(o)
}

// TestSettingsOrder: the command line goes before a variable, which goes before the file, which
// goes before the default. An empty variable is not set.
func TestSettingsOrder(t *testing.T) {
	o, _, err := configure(t, `# of the service
listen: 127.0.0.1:1
data: from-file
max-items: 1
rate: 2.5
request-time: 1m30s
cors-feedback: true
cors-origin: [https://a.example, "https://b.example"]
trusted-proxies:
  - 10.0.0.0/8
log-format: json
`, []string{
		"NOREGRET_DATA=from-variable", "NOREGRET_LISTEN=127.0.0.1:2", "NOREGRET_RATE=", "NOREGRET_MAX_BODY=2048",
		"NOREGRET_TRUSTED_PROXIES=192.0.2.1, 192.0.2.2", "HOME=/", "NOREGRET_TOKEN=secret", "NOREGRET_SERVER=x",
		"NOREGRET_TOKEN_FILE=token",
		"NOREGRET_PORT_8430_TCP=tcp://1", "NOREGRET_MAX_BODIES=1",
	}, "--listen", "127.0.0.1:3")
	if err != nil {
		t.Fatal(err)
	}
	if o.listen != "127.0.0.1:3" || o.Data != "from-variable" || o.MaxItems != 1 || o.Rate != 2.5 ||
		o.RequestTime.String() != "1m30s" || !o.CORSFeedback || o.MaxBody != 2048 || o.logFormat != "json" ||
		o.logLevel != "info" || o.Tokens != "" {
		t.Errorf("%+v", o)
	}
	if want := []string{"https://a.example", "https://b.example"}; !slices.Equal(o.CORSOrigins, want) {
		t.Errorf("origins %q, want %q", o.CORSOrigins, want)
	}
	if want := []string{"192.0.2.1", "192.0.2.2"}; !slices.Equal(o.TrustedProxies, want) {
		t.Errorf("proxies %q, want those of the variable, %q", o.TrustedProxies, want)
	}
	if got := o.Unknown(); !slices.Equal(got, []string{"NOREGRET_MAX_BODIES"}) {
		t.Errorf("unknown variables %q", got)
	}
}

// TestSettingsOfLists: a text in the file is split at commas, as that of a variable and, for
// --trusted-proxies, that on the command line.
func TestSettingsOfLists(t *testing.T) {
	o, _, err := configure(t,
		"trusted-proxies: 192.0.2.1, 192.0.2.2\ncors-origin: https://a.example,https://b.example\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"192.0.2.1", "192.0.2.2"}; !slices.Equal(o.TrustedProxies, want) {
		t.Errorf("proxies %q, want %q", o.TrustedProxies, want)
	}
	if want := []string{"https://a.example", "https://b.example"}; !slices.Equal(o.CORSOrigins, want) {
		t.Errorf("origins %q, want %q", o.CORSOrigins, want)
	}
}

// TestSettingsOfVariable: NOREGRET_CONFIG names the file, and --config another one.
func TestSettingsOfVariable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.yaml")
	if err := os.WriteFile(path, []byte("max-items: 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]int{"": 7, "max-items: 8": 8} {
		o, _, err := configure(t, file, []string{"NOREGRET_CONFIG=" + path})
		if err != nil || o.MaxItems != want {
			t.Errorf("%q: at most %d items, %v; want %d", file, o.MaxItems, err, want)
		}
	}
}

// TestSettingsOfEveryFlag: every flag can be set by a file and by a variable, and only flags can.
func TestSettingsOfEveryFlag(t *testing.T) {
	_, flags, err := configure(t, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, bytes.Repeat([]byte("x"), 64), 0o600); err != nil {
		t.Fatal(err)
	}
	password, authority := filepath.Join(t.TempDir(), "password"), filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(password, []byte("ann:secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	site := httptest.NewTLSServer(nil)
	site.Close()
	block := &pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw}
	if err := os.WriteFile(authority, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	n := 0
	flags.VisitAll(func(f *pflag.Flag) {
		value := map[string]string{
			"bool": "true", "int": "17", "int64": "1048577", "uint64": "18", "float64": "1.5", "duration": "19s",
			"stringSlice": "[10.1.2.3]", "stringArray": "[https://x.example]", "string": "cert.pem",
		}[f.Value.Type()]
		extra := ""
		switch {
		case f.Name == "config":
			return
		case f.Name == "listen" || f.Name == "pprof":
			value = "127.0.0.1:9"
		case strings.Contains(f.Value.Type(), "|"):
			value, _, _ = strings.Cut(f.Value.Type(), "|")
		case f.Name == "traces":
			value = "http://127.0.0.1:4318"
		case f.Name == "tls-cert":
			extra = "tls-key: key.pem"
		case f.Name == "tls-key":
			extra = "tls-cert: cert.pem"
		case f.Name == "alert-webhook":
			value, extra = "http://127.0.0.1:9/alerts", "alert-secret-file: "+secret
		case f.Name == "alert-secret-file":
			value, extra = secret, "alert-webhook: http://127.0.0.1:9/alerts"
		case strings.HasPrefix(f.Name, "stream"):
			value = map[string]string{"stream": "shop", "stream-replicas": "1"}[f.Name]
			extra = "log: nats://127.0.0.1:1"
		case f.Name == "log":
			value = "[nats://127.0.0.1:1]"
		case f.Name == "rules":
			value, extra = "1", "log: nats://127.0.0.1:1"
		case f.Name == "advertise":
			value, extra = "http://10.0.0.1:8430", "log: nats://127.0.0.1:1"
		case f.Name == "nats-cert" || f.Name == "nats-key":
			extra = "log: nats://127.0.0.1:1\nnats-cert: cert.pem\nnats-key: cert.pem"
			extra = strings.Replace(extra, "\n"+f.Name+": cert.pem", "", 1)
		case f.Name == "nats-password-file":
			value, extra = password, "log: nats://127.0.0.1:1"
		case f.Name == "cluster" || f.Name == "peers" || f.Name == "peer" || strings.HasPrefix(f.Name, "cluster-"):
			all := map[string]string{
				"cluster": "c", "peers": "[127.0.0.1:1]", "peer": "127.0.0.1:1", "cluster-secret-file": secret,
				"cluster-cert": "cert.pem", "cluster-key": "key.pem", "cluster-ca": authority,
				"cluster-client": "127.0.0.1:2", "cluster-only": "true",
			}
			value = all[f.Name]
			for name, other := range all {
				if name != f.Name {
					extra += name + ": " + other + "\n"
				}
			}
		case strings.HasPrefix(f.Name, "nats-"):
			extra = "log: nats://127.0.0.1:1"
		case f.Name == "public-url":
			value = "https://decisions.example"
		case f.Name == "cors-feedback":
			extra = "cors-origin: [https://x.example]"
		}
		n++
		bare := strings.Trim(value, "[]")
		_, byFile, err := configure(t, f.Name+": "+value+"\n"+extra, nil)
		if err != nil || strings.Trim(byFile.Lookup(f.Name).Value.String(), "[]") != bare {
			t.Errorf("%s: %s in the file: %v, %v", f.Name, value, byFile.Lookup(f.Name).Value, err)
		}
		_, byVariable, err := configure(t, extra+"\n", []string{variable(f.Name) + "=" + bare})
		if err != nil || strings.Trim(byVariable.Lookup(f.Name).Value.String(), "[]") != bare {
			t.Errorf("%s=%s: %v, %v", variable(f.Name), bare, byVariable.Lookup(f.Name).Value, err)
		}
	})
	if n < 25 {
		t.Errorf("only %d flags", n)
	}
}

// TestSettingsRefused: what is wrong has the place of its value, also where Validate finds it.
func TestSettingsRefused(t *testing.T) {
	for _, c := range []struct {
		file, variables, want string
		code                  noregret.Code
	}{
		{
			"rate: 1\nmax-itmes: 5", "",
			"serve.yaml:2: no flag can be set by the key \"max-itmes\": did you mean max-items? want one of ",
			noregret.BadInput,
		},
		{"config: other.yaml", "", "serve.yaml:1: no flag can be set by the key \"config\"", noregret.BadInput},
		{"help: true", "", "serve.yaml:1: no flag can be set by the key \"help\"", noregret.BadInput},
		{"rate: 1\n\nrate: 2", "", "serve.yaml:3: rate is there already, on line 1", noregret.BadInput},
		{"rate: fast", "", "serve.yaml:1: rate: \"fast\": want a number", noregret.BadInput},
		{"rate:", "", "serve.yaml:1: rate: want one value", noregret.BadInput},
		{"rate: [1]", "", "serve.yaml:1: rate: want one value", noregret.BadInput},
		{"trusted-proxies:", "", "serve.yaml:1: trusted-proxies: want a list of texts", noregret.BadInput},
		{"trusted-proxies: {a: b}", "", "serve.yaml:1: trusted-proxies: want a list of texts", noregret.BadInput},
		{"request-time: soon", "", "serve.yaml:1: request-time: \"soon\": want a length of time", noregret.BadInput},
		{"new-keys: yes", "", "serve.yaml:1: new-keys: \"yes\": want true or false", noregret.BadInput},
		{"log-level: loud", "", "serve.yaml:1: log-level: \"loud\": want debug or info", noregret.BadInput},
		{"rate: 1\nmax-items: 0", "", "serve.yaml:2: max-items: 0: want at least 1", noregret.Usage},
		{"drain: -1s", "", "serve.yaml:1: drain: -1s is out of range", noregret.Usage},
		{"listen: 0.0.0.0:1", "", "serve.yaml:1: listen: 0.0.0.0:1 can be reached by others", noregret.Usage},
		{"- rate", "", "serve.yaml:1: want flags and their values", noregret.BadInput},
		{"rate: 1\n---\nrate: 2", "", "serve.yaml:2: a second document", noregret.BadInput},
		{"a: [", "", "serve.yaml: not valid YAML: ", noregret.BadInput},
		{"", "NOREGRET_RATE=fast", "NOREGRET_RATE: \"fast\": want a number", noregret.Usage},
		{"", "NOREGRET_MAX_ITEMS=0", "NOREGRET_MAX_ITEMS: 0: want at least 1", noregret.Usage},
		{"", "NOREGRET_CONFIG=none.yaml", "none.yaml: the configuration cannot be read", noregret.NotFound},
	} {
		_, _, err := configure(t, c.file, []string{c.variables})
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || noregret.CodeOf(err) != c.code {
			t.Errorf("%q, %s: %v, %s; want %s, %s", c.file, c.variables, err, noregret.CodeOf(err), c.want, c.code)
		}
	}
	if _, _, err := configure(t, "# nothing\n", nil); err != nil {
		t.Errorf("a file of comments: %v", err)
	}
	if _, _, err := configure(t, "rate: 0\n", []string{"NOREGRET_MAX_ITEMS=0"}, "--max-items", "9"); err != nil {
		t.Errorf("a variable whose flag is on the command line: %v", err)
	}
}
