package access

import "testing"

// TestOrigins checks which texts are origins: those that browsers write, and no patterns.
func TestOrigins(t *testing.T) {
	for _, good := range []string{
		"https://shop.example", "http://localhost:3000", "http://127.0.0.1:8080",
		"https://[2001:db8::1]:8443", "https://shop.example:80",
	} {
		o, err := ParseOrigins([]string{good})
		if err != nil || !o.Has(good) || o.Has("") || o.Has(good+"x") || o.Has("null") {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "*", "null", "shop.example", "https://*.shop.example", "https://shop.example/", "https://shop.example:443",
		"http://shop.example:80", "https://Shop.example", "https://ann@shop.example", "https://shop.example?x",
		"https://shop.example#x", "https://", "https://:8443", "ftp://shop.example", "https://shop.example:",
		"file:///home",
	} {
		if _, err := ParseOrigins([]string{"https://good.example", bad}); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}
