package dp

import (
	"fmt"

	"github.com/noregret/noregret"
)

// Adjacency says which data sets are neighbours, that is, which difference a privacy claim hides.
// The number of records is public in both. The zero value is invalid, so that nobody claims by
// accident.
type Adjacency uint8

const (
	// ReplaceOne makes two data sets neighbours if they differ in one record, which may be any
	// other record. Clipped to norm C, its contribution moves by at most 2C. It is the usual claim.
	ReplaceOne Adjacency = iota + 1
	// ZeroOut makes two data sets neighbours if one record is replaced by the null record, whose
	// contribution is zero. A contribution moves by at most C. The claim is weaker than ReplaceOne
	// at the same ε: do not compare the two.
	ZeroOut
)

// String returns "replace-one" or "zero-out".
func (a Adjacency) String() string {
	switch a {
	case ReplaceOne:
		return "replace-one"
	case ZeroOut:
		return "zero-out"
	default:
		return fmt.Sprintf("Adjacency(%d)", uint8(a))
	}
}

// MarshalText implements [encoding.TextMarshaler] by the name, empty for 0.
func (a Adjacency) MarshalText() ([]byte, error) {
	if a == 0 {
		return nil, nil
	}
	return []byte(a.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (a *Adjacency) UnmarshalText(text []byte) error {
	if *a = 0; len(text) == 0 {
		return nil
	}
	for v := ReplaceOne; v <= ZeroOut; v++ {
		if v.String() == string(text) {
			*a = v
			return nil
		}
	}
	return noregret.BadInputf("adjacency", "unknown %q, want replace-one or zero-out", text)
}

// Protection says what a claim of privacy is about: the adjacency and the unit. Two claims with
// different protections do not add up. The zero value is invalid.
type Protection struct {
	// Adjacency is the relation of neighbouring data sets.
	Adjacency Adjacency `json:"adjacency"`
	// Records is the largest number of records that one unit contributes: 1 protects single
	// records, K > 1 protects users with at most K records each. The caller must enforce the limit.
	Records int `json:"records"`
}

// PerRecord protects every single record under replace-one adjacency.
func PerRecord() Protection { return Protection{Adjacency: ReplaceOne, Records: 1} }

// PerUser protects all records of a user under replace-one adjacency, if the caller enforces that
// no user contributes more than the given number of records.
func PerUser(records int) Protection { return Protection{Adjacency: ReplaceOne, Records: records} }

// check refuses an invalid protection.
func (p Protection) check() error {
	if p.Adjacency != ReplaceOne && p.Adjacency != ZeroOut {
		return noregret.BadInputf("protection", "adjacency %s, want ReplaceOne or ZeroOut: %w", p.Adjacency,
			ErrUnitMismatch)
	}
	if p.Records < 1 || p.Records > 1<<20 {
		return noregret.BadInputf("protection", "%d records per unit, want 1 to 2^20: %w", p.Records, ErrUnitMismatch)
	}
	return nil
}

// steps is the number of clip bounds by which one unit's contributions move together.
func (p Protection) steps() uint64 {
	if p.Adjacency == ZeroOut {
		return uint64(p.Records)
	}
	return 2 * uint64(p.Records)
}

// Sensitivity is the largest change, in the norm of the clip, that one unit causes with increments
// clipped to the given bound: 2·C per record for ReplaceOne and C for ZeroOut.
func (p Protection) Sensitivity(clip float64) float64 { return float64(p.steps()) * clip }

// String names the adjacency and the unit: "replace-one, unit: one record".
func (p Protection) String() string {
	if p.Records == 1 {
		return p.Adjacency.String() + ", unit: one record"
	}
	return fmt.Sprintf("%s, unit: one user with at most %d records", p.Adjacency, p.Records)
}
