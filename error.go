package noregret

import (
	"errors"
	"fmt"
)

// Code says what kind of fault an [Error] is. It is what a program switches on;
// the command maps it to its exit code (see [Code.ExitStatus]).
type Code string

// The codes. New ones may be added; the text of a code never changes.
const (
	// Internal is a fault of noregret itself or of the machine (disk full,
	// a broken invariant). Errors that carry no code count as Internal.
	Internal Code = "internal"
	// Usage is a call that cannot be meant: an unknown flag, an option out
	// of its range, a measure of the wrong family for the algorithm.
	Usage Code = "usage"
	// BadInput is data that breaks a stated rule: a malformed line, a NaN, a
	// label that was not declared, a file of an unknown format.
	BadInput Code = "bad_input"
	// NotFound is a file or a name that is not there.
	NotFound Code = "not_found"
	// Diverged is a learner whose state left the range in which its numbers
	// mean anything (a step size far too large).
	Diverged Code = "diverged"
)

// ExitStatus is the exit status that the noregret command ends with for an
// error of this code: 2 for [Usage], 3 for [BadInput] and [NotFound], 1 for the rest.
func (c Code) ExitStatus() int {
	switch c {
	case Usage:
		return 2
	case BadInput, NotFound:
		return 3
	default:
		return 1
	}
}

// Error is the one error type of the module. Its text is "place: message" or, with
// no place, the message alone. Match it with [errors.As], or take its code with [CodeOf].
type Error struct {
	// Code is the kind of fault.
	Code Code
	// Place is where the fault lies: "file:line", "file:line:token",
	// "row 12, index 3", a flag or a JSON path. It may be empty.
	Place string
	// Message is one sentence without a full stop: the value found, the rule
	// it breaks and what is allowed.
	Message string
	// Err is the cause, or nil.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Place == "" {
		return e.Message
	}
	return e.Place + ": " + e.Message
}

// Unwrap returns the cause, for [errors.Is] and [errors.As].
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an [Error] of the given code at the given place ("" where there is
// none). The message is formatted as by [fmt.Errorf]; an operand of the verb %w
// becomes the cause.
func Errorf(code Code, place, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Place: place, Message: err.Error(), Err: errors.Unwrap(err)}
}

// BadInputf is [Errorf] with the code [BadInput]: the error of an argument or of data that breaks a
// rule.
func BadInputf(place, format string, args ...any) *Error {
	return Errorf(BadInput, place, format, args...)
}

// CodeOf returns the code of the first [Error] in err's chain, or [Internal] when
// there is none. It returns "" for a nil err.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}
