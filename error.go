package noregret

import (
	"errors"
	"fmt"
)

// Code is the kind of fault of an [Error]. Programs switch on it; the command
// maps it to its exit status (see [Code.ExitStatus]).
type Code string

// The codes. New ones may be added; the text of a code never changes.
const (
	// Internal is a fault of noregret itself or of the machine: a broken
	// invariant, a full disk. Errors without a code count as Internal.
	Internal Code = "internal"
	// Usage is a wrong call: an unknown flag, an option out of its range, a
	// measure of the wrong family for the algorithm.
	Usage Code = "usage"
	// BadInput is data that breaks a stated rule: a malformed line, a NaN, a
	// label that was not declared, a file of an unknown format.
	BadInput Code = "bad_input"
	// NotFound is a file or a name that does not exist.
	NotFound Code = "not_found"
	// Diverged is a learner whose numbers have become meaningless, as with a
	// step size that is far too large.
	Diverged Code = "diverged"
)

// ExitStatus returns the exit status of the noregret command for an error of
// this code: 2 for [Usage], 3 for [BadInput] and [NotFound], 1 for the others.
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

// Error is the error type of the module. Its text is "place: message", or the
// message alone if there is no place. Match it with [errors.As], or take its code
// with [CodeOf].
type Error struct {
	// Code is the kind of fault.
	Code Code
	// Place is the position of the fault: "file:line", "file:line:token",
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

// Errorf returns an [Error] with the given code and place; the place may be empty.
// The message is formatted as by [fmt.Errorf]; an operand of the verb %w becomes the
// cause.
func Errorf(code Code, place, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Place: place, Message: err.Error(), Err: errors.Unwrap(err)}
}

// BadInputf is [Errorf] with the code [BadInput]: the error of an argument or of data that breaks a
// rule.
func BadInputf(place, format string, args ...any) *Error {
	return Errorf(BadInput, place, format, args...)
}

// CodeOf returns the code of the first [Error] in err's chain, or [Internal] if
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
