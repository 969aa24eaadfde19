// Package pages keeps tables of records in a bounded memory: what does not fit is written to a file
// and read again when it is used.
//
// A [Table] is a growing array of records of one size, in pages of [Size] bytes. The tables of a
// [Pool] share its memory. If their pages need more, the pool writes those that were not used
// recently to its file, which is scratch space: its content means nothing after the process has
// ended. If the file cannot be written, the pages stay in memory, the pool uses more than its
// limit, and [Pool.Err] says why. A page that cannot be read back, or whose checksum is wrong, is a
// panic with a [ReadError], as the data are lost.
//
// [Table.Snapshot] costs O(pages): the copies share their pages until one of them is written to.
// The memory of pages that nothing refers to is counted until the garbage collector finds them,
// unless [Table.Release] gives it back.
//
// On Linux, full pages of a pool are outside of the Go heap: the garbage collector does not scan
// them and leaves no garbage in proportion to them. GOMEMLIMIT does not count them. With the race
// detector, which would not see them there, they are in the Go heap.
//
// What a table holds does not depend on the pool. A table without a pool is in the Go heap as a
// whole.
package pages
