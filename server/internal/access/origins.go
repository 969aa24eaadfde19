package access

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/noregret/noregret"
)

// Origins are the origins whose pages may call the service from a browser. The zero value has none.
type Origins struct{ list []string }

// ParseOrigins reads exact origins as browsers write them, such as https://shop.example or
// http://localhost:3000. It refuses *, null, paths and default ports.
func ParseOrigins(list []string) (Origins, error) {
	for _, text := range list {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" ||
			strings.Contains(text, "*") || strings.HasSuffix(u.Host, ":") ||
			text != u.Scheme+"://"+strings.ToLower(u.Host) ||
			u.Port() == map[string]string{"https": "443", "http": "80"}[u.Scheme] {
			return Origins{}, noregret.Errorf(noregret.Usage, "origins",
				"%.200q: want an exact origin as browsers write it, such as https://shop.example or "+
					"http://localhost:3000", text)
		}
	}
	return Origins{list}, nil
}

// None reports whether there are no origins.
func (o Origins) None() bool { return len(o.list) == 0 }

// Has reports whether the origin, that of a request ([Origin]), is listed.
func (o Origins) Has(origin string) bool { return origin != "" && slices.Contains(o.list, origin) }

// Origin returns the origin of the page that sent a request, "" if the request names none or
// several.
func Origin(r *http.Request) string {
	if list := r.Header.Values("Origin"); len(list) == 1 {
		return list[0]
	}
	return ""
}

// SameOrigin reports whether the origin has the host that the request was sent to. It does not
// compare the schemes, as a proxy may have ended TLS.
func SameOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && u.Host == r.Host
}
