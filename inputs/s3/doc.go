// Package s3 reads an object of S3, or of a store that speaks its protocol, by ranges.
//
// [Open] asks for the first part and learns the size; [Object.Read] asks for one part after the
// other, each with If-Match, so that all of them are of the same version of the object. When a
// connection breaks, it goes on from the byte where it was. It holds one part in memory.
//
// Requests are signed by AWS's own signer with the credentials of [Environment]; without
// credentials they are not signed, as for public buckets. Nothing else of AWS's SDK is used: no
// files of credentials and no service of the machine.
//
// Errors have the object as their place: not_found if there is none, bad_input if it changed while
// it was read, usage for a wrong name or configuration, internal for what the network or the store
// did.
package s3
