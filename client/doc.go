// Package client is a client of the noregret decision service.
// [Client] makes single calls, with retries: Decide, Exposures, Feedback, Report, and so on.
//
// [Reporter] collects exposures and feedback from many goroutines and sends them in batches. Its
// queue is bounded: when the service is slower than the program, callers wait.
//
// [Local] decides in the process, by the same function as the service, in less than a microsecond.
// It keeps the experiment's policy up to date by long polling and sends sums of the recorded
// metrics. Use it when a request for each decision is too expensive and the process that decides
// also observes the metrics.
//
// Package provider is a provider for OpenFeature.
//
// Which to use:
//
//	             decision               feedback                    joined by
//	Client       a call                 a call                      token, once a unit and metric
//	Reporter     (with Client)          batches                     token, once a unit and metric
//	Local        in the process         sums every few seconds      the program: one Record a unit and version
package client
