package server

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
)

// ofrepPage is a page of a shop that evaluates a flag by the public OFREP provider for browsers,
// and says in #result what it got. Its modules are those that npm has installed.
const ofrepPage = `<!doctype html><title>shop</title><link rel="icon" href="data:,"><p id="result"></p>
<script type="importmap">{"imports": {
	"@openfeature/core": "/@openfeature/core/dist/esm/index.js",
	"@openfeature/web-sdk": "/@openfeature/web-sdk/dist/esm/index.js",
	"@openfeature/ofrep-core": "/@openfeature/ofrep-web-provider/node_modules/@openfeature/ofrep-core/index.esm.js",
	"@openfeature/ofrep-web-provider": "/@openfeature/ofrep-web-provider/index.esm.js"}}</script>
<script type="module">
import { OpenFeature } from '@openfeature/web-sdk';
import { OFREPWebProvider } from '@openfeature/ofrep-web-provider';
const show = (text) => { document.getElementById('result').textContent = text; };
const provider = new OFREPWebProvider({baseUrl: 'SERVICE', headers: [['Authorization', 'Bearer TOKEN']],
	cacheMode: 'disabled', disableVisibilityRefresh: true});
try {
	await OpenFeature.setProviderAndWait(provider, {targetingKey: 'ann'});
	const flags = OpenFeature.getClient();
	const toy = flags.getObjectDetails('toy', {});
	const other = flags.getNumberDetails('secret', -1);
	await provider._fetchFlags({targetingKey: 'ann'}); // with the ETag of the first answer
	show(JSON.stringify({variant: toy.variant, token: toy.flagMetadata.decisionId, other: other.errorCode}));
} catch (e) {
	show('refused: ' + e);
}
</script>`

// TestBrowserOFREP checks in a real browser that the public OFREP provider for web pages works from
// a page of a listed origin, with a token for browsers, and with the ETag of its last answer; and
// that a page of another origin gets nothing. It needs the packages of client/js, which
// client/js/test.sh installs from the npm registry.
func TestBrowserOFREP(t *testing.T) {
	modules := os.Getenv("NOREGRET_NODE_MODULES")
	if modules == "" {
		t.Skip("NOT RUN: NOREGRET_NODE_MODULES is not set: make ofrep-js installs the packages and runs this test")
	}
	b := newBrowser(t)
	service := ""
	pages := func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/@openfeature/") {
			http.FileServer(http.Dir(modules)).ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		fill := strings.NewReplacer("SERVICE", service, "TOKEN", "0123456789abcdef-page")
		_, _ = w.Write([]byte(fill.Replace(ofrepPage)))
	}
	listed, other := httptest.NewServer(http.HandlerFunc(pages)), httptest.NewServer(http.HandlerFunc(pages))
	t.Cleanup(func() { listed.Close(); other.Close() })
	path := filepath.Join(t.TempDir(), "tokens.yaml")
	if err := os.WriteFile(path, []byte("tokens:\n  - {name: boss, roles: [admin], token: 0123456789abcdef-boss}\n"+
		"  - {name: page, roles: [browser], experiments: [toy], token: 0123456789abcdef-page}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := newLeakyWorld(t, func(c *Config) { c.Tokens, c.CORSOrigins = path, []string{listed.URL} })
	w.token = "0123456789abcdef-boss"
	w.apply(toy)
	w.apply(strings.Replace(toy, "name: toy", "name: secret", 1))
	var mu sync.Mutex
	var seen []string
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		w.server.Handler().ServeHTTP(rec, r)
		mu.Lock()
		seen = append(seen, r.Method+" "+http.StatusText(rec.Code))
		mu.Unlock()
		for k, v := range rec.Header() {
			rw.Header()[k] = v
		}
		rw.WriteHeader(rec.Code)
		_, _ = rw.Write(rec.Body.Bytes())
	}))
	t.Cleanup(front.Close)
	service = front.URL
	open := func(url string) string {
		t.Helper()
		b.do(chromedp.Navigate(url), shows(`//p[@id="result" and text()]`))
		return ask[string](b, `document.getElementById('result').textContent`)
	}
	want := w.decide("toy", "ann")[0]
	if got := open(listed.URL); !strings.Contains(got, `"variant":"`+want.Arm+`","token":"`+want.Token+`"`) ||
		!strings.Contains(got, `"other":"FLAG_NOT_FOUND"`) {
		t.Errorf("a listed origin got %s, want %+v", got, want)
	}
	if bad := b.complaints(); len(bad) > 0 {
		t.Errorf("the browser complains: %q", bad)
	}
	mu.Lock()
	// A request with an ETag does without the browser's caches, also without that of preflights.
	if !slices.Equal(seen, []string{"OPTIONS No Content", "POST OK", "OPTIONS No Content", "POST Not Modified"}) {
		t.Errorf("the browser sent %q", seen)
	}
	seen = nil
	mu.Unlock()
	if got := open(other.URL); !strings.HasPrefix(got, "refused: ") {
		t.Errorf("another origin got %s", got)
	}
	if bad := strings.Join(b.complaints(), "\n"); !strings.Contains(bad, "blocked by CORS policy") {
		t.Errorf("the browser says %q", bad)
	}
	mu.Lock()
	defer mu.Unlock()
	if !slices.Equal(slices.Compact(seen), []string{"OPTIONS Forbidden"}) {
		t.Errorf("from another origin the browser sent %q", seen)
	}
}
