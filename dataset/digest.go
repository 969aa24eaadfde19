package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"

	"github.com/cespare/xxhash/v2"
)

// Digest is a way to name the bytes of an input.
type Digest string

// SHA256 names the bytes of an input so that nobody can make others with the same name. XXH64 tells
// inputs apart that differ by accident, in an eighth of the time or less; the program xxhsum
// computes it too. NoDigest reads without a name.
const (
	SHA256   Digest = "sha256"
	XXH64    Digest = "xxh64"
	NoDigest Digest = "none"
)

// hash returns the hash of an input. It is computed by the reading goroutine, apart from those that
// parse and learn.
func (d Digest) hash() hash.Hash {
	switch d {
	case NoDigest:
		return noHash{}
	case XXH64:
		return xxhash.New()
	default:
		return sha256.New()
	}
}

// text returns the digest with its kind.
func (d Digest) text(h hash.Hash) string {
	if d == NoDigest {
		return ""
	}
	return string(d) + ":" + hex.EncodeToString(h.Sum(nil))
}

// noHash is the hash of an input whose digest is not wanted.
type noHash struct{ hash.Hash }

// Write implements [hash.Hash].
func (noHash) Write(p []byte) (int, error) { return len(p), nil }
