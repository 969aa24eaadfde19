// Package client talks to a noregret decision service.
//
// [Client] makes single calls, with retries: Decide, Exposures, Feedback, Report, and so on.
//
// [Reporter] takes exposures and feedback from many goroutines and sends them in batches; when the
// service is slower than the program, it holds the program back instead of growing.
//
// [Local] decides in the process, by the same function as the service, in less than a microsecond:
// it keeps the experiment's policy up to date by a long poll, and sends sums of what was recorded.
// Use it where a call for each decision is too much, and where a unit's metrics are known where it
// was decided for.
//
// Package provider, below this one, is a provider for OpenFeature.
//
// Which to use:
//
//	             decision               feedback                    joined by
//	Client       a call                 a call                      token, once a unit and metric
//	Reporter     (with Client)          batches                     token, once a unit and metric
//	Local        in the process         sums every few seconds      the program: one Record a unit and version
package client
