// Package join matches what is reported with what was decided: which value belongs to which unit,
// policy version, arm and metric, and when it counts. It reads no log, has no clock and judges
// nothing.
//
// # Versions and units
//
// A [Version] of an experiment's policy opens with the shares that it serves. From then on units
// are exposed under it and report values. It is sealed when the next one begins, and stays open
// until the attribution window of its last unit has closed. A unit counts once per version, when
// its exposure is reported; each of its metrics counts once, the first value. The value of a metric
// with a default counts when the window closes, as until then the unit may still report another
// one; until then it is known early ([Early]).
//
// A metric may have a window of its own, shorter or longer than that of others. It then closes by
// itself: its sums are those of all units, and values that come later are late, while other metrics
// still count. A unit is exposed within the shortest window, so that all metrics are of the same
// units, and waits for the longest.
//
// # The joiner
//
// A [Joiner] has the open versions of an experiment. Events go to [Joiner.Expose], [Joiner.Report]
// and [Joiner.Aggregate], which return a result for each item: accepted, duplicate, late or
// rejected. What a Joiner needs beside the event it is given in an [Input], which it does not
// change: the definition, the policy in force and the time. [Joiner.Close] closes a window of a
// version and returns it as [Closed]: the sums by arm, what was missing, the sums of units that did
// not allow all arms. The caller hands them to whoever compares arms, judges guardrails, learns or
// reports. Nothing calls back.
//
// Sums of arms are added in one place, to those of the version and to those of all versions
// ([Joiner.Arms]).
//
// # Beside the sums
//
//   - [Ratio] tests at all times whether units are exposed to the arms as the policy decided.
//   - [Decisions] are kept for units that report without a token.
//   - [Source] is the last sequence number of a sender of sums, which counts each number once.
//   - [Returns] measures by how much units that return with the same arm raise variances.
//   - [Contributions] bounds what a unit of a private experiment contributes.
//
// # Memory
//
// The units that wait are records in pages, 20 bytes and 8 for each metric, and found by a hash
// table in pages. With a pool of pages those that do not fit into its memory are in a file. A copy
// of a Joiner shares the pages until one of the two changes them, so that a snapshot can be written
// while events go on ([Joiner.Copy], [Version.WriteJSON]); [Columns] and [Assembler] read it.
//
// The same events give the same state, bit for bit, on every machine. A Joiner is not safe for
// concurrent use; its copies are independent.
package join
