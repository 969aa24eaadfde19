// Package strictjson decodes JSON from outside (model files, request bodies, definitions, events)
// more strictly than encoding/json:
//
//   - Names of fields are case-sensitive. Unknown and duplicate names are errors, in structs and in
//     maps.
//   - Only pointers, [json.RawMessage] and any accept null; it does not leave a number at zero.
//   - Text must be UTF-8 without unpaired surrogates.
//   - Nothing may follow the value.
//   - [Rules] bound how deep lists and objects are nested.
//
// Errors have the code bad_input and the JSON path as their place.
//
// encoding/json accepts all of these: it reads "Threshold" as "threshold", takes the second of two
// equal keys, leaves a null sum at 0, and maps different broken strings to the same one.
package strictjson
