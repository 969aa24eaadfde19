// Package strictjson decodes JSON more strictly than encoding/json, for whatever comes from
// outside: model files, request bodies, problem files. Names of fields count in their exact case,
// none may be unknown or stand twice, in structs and in maps; null is for pointers,
// [json.RawMessage] and any alone, not a way to leave a number at zero; text must be UTF-8 without
// halves of surrogate pairs; and nothing may follow the value. Its errors, of code bad_input, have
// the JSON path as their place.
//
// encoding/json lets each of these pass: a misspelt "Threshold" becomes "threshold", the second of
// two equal keys wins, a null sum counts as 0, and two different broken strings become the same
// one.
package strictjson
