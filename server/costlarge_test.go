package server

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/noregret/noregret/internal/testsize"
)

// mostRequest is the most memory that one request may make the service allocate, in bytes,
// whatever it sends: a few bytes of gzip may decompress to the bound of the body, which is 1 MiB
// by default. docs/service.md states it.
const mostRequest = 256 << 20

// largeShapes are the shapes that are sent in every place of a body as large as is allowed.
func largeShapes() []costShape {
	return slices.DeleteFunc(costShapes(), func(s costShape) bool {
		return !slices.Contains([]string{
			"lists within each other", "2000 lists around a long string", "40 lists around a long string",
			"40 objects around a wide object", "a long string",
		}, s.name)
	})
}

// grows sends a body of a 16th of the bound, one of the bound, and that one compressed. The cost
// may be linear: up to three times the 16 times that the length is. What a body of the 16th costs
// is taken to be at least 2 ms and 256 KiB, as less cannot be compared.
func (c *costWorld) grows(what, media, small, large string) {
	c.t.Helper()
	if len(large) > c.n {
		c.t.Fatalf("%s: %d bytes", what, len(large))
	}
	var few, got, zipped cost
	for range 3 { // what another goroutine does is not the request's fault
		_, few = c.send("", media, []byte(small), false)
		_, got = c.send("", media, []byte(large), false)
		_, zipped = c.send("", media, []byte(large), true)
		few.bytes, few.time = max(few.bytes, 256<<10), max(few.time, 2*time.Millisecond)
		c.most.bytes = max(c.most.bytes, got.bytes, zipped.bytes)
		c.most.time = max(c.most.time, got.time, zipped.time)
		if max(got.bytes, zipped.bytes) <= min(48*few.bytes, mostRequest) &&
			max(got.time, zipped.time) <= 48*few.time {
			return
		}
	}
	c.t.Errorf("%s %s: %.200s: %d bytes cost %v, %d bytes %v, compressed %v: want at most "+
		"48 times as much, and %d bytes",
		c.method, c.path, what, len(small), few, len(large), got, zipped, mostRequest)
}

// large sends bodies as large as is allowed of a media type that the operation reads.
func (c *costWorld) large(media string, schema map[string]any) {
	c.t.Helper()
	shaped := func(shapes []costShape, text func(shape string) string) {
		for _, s := range shapes {
			body := func(n int) string { return text(s.make(n - n/16)) }
			where := strings.ReplaceAll(text("..."), c.token, "TOKEN")
			c.grows(s.name+" in "+where, media, body(c.n/16), body(c.n))
		}
	}
	switch {
	case media == "application/yaml":
		shaped(largeShapes(), func(shape string) string { return "- " + shape })
		shaped(largeShapes(), func(shape string) string {
			return strings.Replace(news, "value: 1", "value: "+shape, 1)
		})
	case strings.HasSuffix(media, "yaml"):
	case media == "application/x-www-form-urlencoded":
		shaped(largeShapes()[:1], func(shape string) string { return "definition=" + shape })
	default:
		ordinary := c.ordinary(media, schema)
		small, large := places(c.t, ordinary, c.n/16-len(ordinary)), places(c.t, ordinary, c.n-len(ordinary))
		for i, text := range large {
			if !strings.Contains(text, costPlace) {
				c.grows("a long list", media, small[i], text)
				continue
			}
			shapes := largeShapes()
			if i > 0 { // one in each place, in turn, and of many places in every fifth
				if len(large) > 40 && i%5 != 0 {
					continue
				}
				shapes = shapes[i%len(shapes):][:1]
			}
			shaped(shapes, func(shape string) string {
				return strings.Replace(text, `"`+costPlace+`"`, shape, 1)
			})
		}
	}
	// more than is allowed, in a few bytes
	_, got := c.send("", media, bytes.Repeat([]byte("7"), 64*c.n), true)
	if got.bytes > mostRequest {
		c.t.Errorf("%s %s: a compressed body of %d bytes made the service allocate %d bytes", c.method, c.path,
			64*c.n, got.bytes)
	}
}

// TestCostOfLargeRequests sends bodies of the bound, 1 MiB, to every operation that reads one,
// plain and compressed. Their cost must be linear in the length, and the memory below a constant.
// That is the bound per byte sent for gzip: a byte may stand for a thousand, but never beyond the
// bound of the body.
func TestCostOfLargeRequests(t *testing.T) {
	testsize.NoRace(t)
	var most cost
	for path, v := range doc().all["paths"].(map[string]any) {
		for method := range v.(map[string]any) {
			content, _ := follow(t, "paths", path, method, "requestBody", "content")
			if method == "parameters" || content == nil {
				continue
			}
			op, _ := follow(t, "paths", path, method)
			id := op["operationId"].(string)
			t.Run(id, func(t *testing.T) {
				c := newCostWorld(t, id, strings.ToUpper(method), path)
				c.n = testsize.Of(int(DefaultConfig("").MaxBody), 128<<10)
				for media := range content {
					schema, _ := follow(t, "paths", path, method, "requestBody", "content", media, "schema")
					c.large(media, schema)
				}
				most.bytes, most.time = max(most.bytes, c.most.bytes), max(most.time, c.most.time)
			})
		}
	}
	t.Logf("at most %d bytes and %v for a request", most.bytes, most.time)
}
