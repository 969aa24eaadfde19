package web

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// Answers are not compressed by klauspost's gzhttp, since the API promises what it does not do: it
// leaves out Content-Length, gives an answer to HEAD other headers than one to GET, does not know *
// in Accept-Encoding, and changes or drops a tag where ours becomes a weak one. It would also
// compress a policy for each client that polls it, and [Text] compresses it once: a body of 20 KB
// then takes 3 µs in place of 22.

// minCompressed is the size in bytes from which answers are compressed.
const minCompressed = 1 << 10

// AcceptsGzip reports whether a client takes answers that gzip has compressed (RFC 9110, section
// 12.5.3).
func AcceptsGzip(r *http.Request) bool {
	accepted, explicit := false, false
	for _, h := range r.Header.Values("Accept-Encoding") {
		for part := range strings.SplitSeq(h, ",") {
			name, params, _ := strings.Cut(part, ";")
			name = strings.ToLower(strings.TrimSpace(name))
			if name != "gzip" && name != "x-gzip" && (name != "*" || explicit) {
				continue
			}
			accepted, explicit = true, name != "*"
			if text, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(params)), "q="); ok {
				q, err := strconv.ParseFloat(text, 64)
				accepted = err == nil && q > 0
			}
		}
	}
	return accepted
}

// compressible reports whether bodies of a media type become smaller.
func compressible(media string) bool {
	media, _, _ = strings.Cut(media, ";")
	switch media {
	case "application/jsonl", "application/yaml", "image/svg+xml":
		return true
	}
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "json")
}

var writers = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	return z
}}

func compress(b []byte) []byte {
	z := writers.Get().(*gzip.Writer)
	defer writers.Put(z)
	var out bytes.Buffer
	z.Reset(&out)
	_, _ = z.Write(b) // a buffer takes everything
	_ = z.Close()
	return out.Bytes()
}

// Text is a body that is sent more than once, and compressed once at most.
type Text struct {
	plain      []byte
	compressed func() []byte
}

// NewText returns the body with the given bytes, which must not be changed.
func NewText(b []byte) *Text {
	return &Text{b, sync.OnceValue(func() []byte { return compress(b) })}
}

// Bytes returns the body as it is, which must not be changed.
func (t *Text) Bytes() []byte { return t.plain }

// Prepare compresses the body if it is large enough.
func (t *Text) Prepare() {
	if len(t.plain) >= minCompressed {
		t.compressed()
	}
}

// Write answers with the body as [WriteBytes] does.
func (t *Text) Write(w http.ResponseWriter, status int, media string) error {
	return write(w, status, media, t.plain, t.compressed)
}

// write answers with a body, compressed if the answer may be.
func write(w http.ResponseWriter, status int, media string, b []byte, compressed func() []byte) error {
	h := w.Header()
	h.Set("Content-Type", media)
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	if rec, ok := w.(*Recorder); ok && rec.compressed(media, len(b)) {
		b = compressed()
		encoded(h)
	}
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	_, _ = w.Write(b)
	return nil
}

// compressed reports whether a body is compressed, and says in the headers what that depends on.
func (r *Recorder) compressed(media string, size int) bool {
	if !r.Compress || size < minCompressed || !compressible(media) || r.Header().Get("Content-Encoding") != "" {
		return false
	}
	r.Header().Add("Vary", "Accept-Encoding")
	return r.Gzip
}

// encoded sets the headers of an answer that gzip has compressed. Its tag becomes a weak one, as
// the bytes are others.
func encoded(h http.Header) {
	h.Set("Content-Encoding", "gzip")
	if tag := h.Get("ETag"); strings.HasPrefix(tag, `"`) {
		h.Set("ETag", "W/"+tag)
	}
}

// WriteStream returns the writer of an answer of unknown length, which compresses it if the answer
// may be, and the function that completes the answer. If that is not called, the client sees that
// the answer is not complete.
func WriteStream(w http.ResponseWriter, media string) (out io.Writer, end func() error) {
	w.Header().Set("Content-Type", media)
	rec, ok := w.(*Recorder)
	if !ok || !rec.compressed(media, minCompressed) {
		return w, func() error { return nil }
	}
	z := &stream{w: w}
	return z, z.close
}

// stream compresses an answer. It begins with the first byte, so that an error can be the answer
// instead.
type stream struct {
	w http.ResponseWriter
	z *gzip.Writer
}

func (s *stream) Write(b []byte) (int, error) {
	if s.z == nil {
		encoded(s.w.Header())
		s.z, _ = gzip.NewWriterLevel(s.w, gzip.BestSpeed) // the level is valid
	}
	return s.z.Write(b)
}

func (s *stream) close() error {
	if s.z == nil {
		return nil
	}
	return s.z.Close()
}
