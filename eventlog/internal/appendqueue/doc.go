// Package appendqueue is the queue of appends that wait for the one writer of a log:
//
//	q := appendqueue.New[eventlog.Event](16 << 20)
//	first, err := q.Append(ctx, 0, events, size) // many callers, each waits for its answer
//
//	for {                                        // the writer
//		group := q.Take(4<<20, 4096) // waits
//		if group == nil {
//			return // the queue is closed
//		}
//		... // writes the events, sets First and Err of each request
//		q.Done(group)
//	}
//
// # What it promises
//
//   - Order. Requests are taken in the order in which they were added, each once. One for a position
//     begins a group.
//   - Bounds. The requests that wait or are taken and not done have at most as many bytes as the
//     limit; others wait for room. A group is within the bounds that the writer gives, unless it is
//     one request.
//   - Cancellation. A context that ends removes its request unless the writer has it; then the
//     request has the outcome that the writer gives it.
//   - Ends. Stop answers the requests that wait and those that come with an error, until Resume.
//     Close refuses new ones only: the writer gets those that wait, and then nil.
//
// The queue knows neither the log nor its events, calls nothing and has no goroutine. Its lock is
// the innermost: a log may hold its own when it calls a method other than Append and Take.
package appendqueue
