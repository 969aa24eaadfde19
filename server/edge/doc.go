// Package edge decides near the users for a decision service that is elsewhere: it follows the
// policies of some experiments, decides by copies of them over the routes of the service, and adds
// up feedback, which it sends as sums. It is what "noregret edge" runs; access tokens, limits,
// errors and the listener are those of the decision service ([server.Front]).
//
// Feedback is answered once its sums are kept on the disk, and with them which units they are of: a
// unit that is reported again counts once. Sums go to the service in numbered reports, each of
// which counts once, too. All that holds when the process is killed and started again: package
// client does it, and an [Experiment] is its Local.
//
// docs/how-to/edge.md shows the calls, and says what an edge does not do.
package edge
