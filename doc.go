// Package noregret is the root of a module for decisions that are learned while they are made, with
// guarantees.
//
// A program meets a stream. In every round it chooses something (a point, an arm, a label), sees
// some feedback, and must do nearly as well as the best choice in hindsight. The packages below
// this one hold the games, the learners and the systems built of them. A package imports only
// packages of lower floors; ARCHITECTURE.md shows the floors and says why.
//
// # The decision service
//
// The service gives each request an arm of an experiment, takes feedback, and learns the mixture of
// arms that is best under guardrails. docs/service.md shows it from outside.
//
//   - [github.com/noregret/noregret/client] makes decisions and reports feedback, over HTTP or in
//     the process; client/provider is the provider for OpenFeature.
//   - [github.com/noregret/noregret/policy] holds what a client needs to decide: policies, splits,
//     signed decision tokens.
//   - [github.com/noregret/noregret/api] holds the JSON forms of the service's answers and requests.
//   - [github.com/noregret/noregret/experiment] is the service's pure core, a fold over events;
//     experiment/definition reads and validates the definitions of experiments, experiment/plan
//     says how long an experiment takes, experiment/join matches what is reported with units and
//     versions, experiment/compare sums up what arms bring in rounds, experiment/guard judges
//     guardrails, experiment/report explains, experiment/propose says what a policy is, and
//     experiment/propose/mixture, the default policy, holds guardrails by standard errors of the
//     mixture.
//   - [github.com/noregret/noregret/eventlog] is the durable, totally ordered log of these events.
//     eventlog/memlog is one in memory, for tests, eventlog/jetstream one of several nodes, and
//     eventlog/jetstream/embedded the server of NATS that it can bring along.
//   - [github.com/noregret/noregret/server] serves them over HTTP, server/scoring predictions of
//     classifiers, and server/edge decisions near the users by copies of policies.
//
// # Mixtures under guardrails
//
//   - [github.com/noregret/noregret/pasto] states the problem: metrics, objectives, guardrails, and
//     the interface of its learners.
//   - pasto/optimum computes certified optima where the means are known.
//   - pasto/confident is the default learner where there is no control. pasto/ascent holds the stochastic gradient methods of the literature, and pasto/box
//     learns in a box of continuous parameters. pasto/single finds the best single arm,
//     pasto/optimistic plays bandits under hard guardrails.
//     pasto/catalogue makes all of them by name.
//   - [github.com/noregret/noregret/bandit] holds learners for one metric.
//     bandit/offpolicy estimates the value of a policy from decisions that another one made.
//     bandit/contextual learns which arm is best in a context.
//   - pasto/scenario holds the scenarios with known truth in which learners are measured.
//
// # Statistics
//
//   - [github.com/noregret/noregret/confseq] computes confidence sequences, which hold at all times
//     at once.
//   - [github.com/noregret/noregret/forget] says how a learner forgets, and
//     [github.com/noregret/noregret/drift] restarts learners in a world that changes.
//   - [github.com/noregret/noregret/changepoint] detects changes in a stream of numbers.
//
// # Privacy
//
//   - [github.com/noregret/noregret/dp] holds the parts of differential privacy: accounting, exact
//     noise, clipping, private prefix sums and selections, the ledger; dp/audit attacks mechanisms
//     to test their claims.
//   - [github.com/noregret/noregret/private] learns from private records and releases a point after
//     each. private/aggregate releases sums of feedback by arm and metric.
//
// # Classifiers for rare positives
//
//   - [github.com/noregret/noregret/classify] trains linear classifiers that maximize F1, G-mean,
//     Q-mean and others directly; classify/measure holds these measures,
//     classify/scored what scored examples tell: probabilities, AUC, thresholds;
//     classify/export writes models for other programs, classify/serving answers rows and takes
//     their labels.
//   - [github.com/noregret/noregret/dataset] reads examples from disk: svmlight, CSV, JSON lines,
//     IDX, the binary cache; dataset/synth generates synthetic ones.
//
// # Online convex optimization
//
//   - [github.com/noregret/noregret/oco] holds the learners, each with its regret bound as a method.
//   - [github.com/noregret/noregret/experts] plays on expert advice at random.
//   - [github.com/noregret/noregret/regret] is the referee: games, adversaries, certified regret.
//   - [github.com/noregret/noregret/play] joins the catalogue of learners and that of games.
//   - [github.com/noregret/noregret/convex] holds sets, norms, mirror maps and projections.
//   - [github.com/noregret/noregret/loss] holds convex losses and concave rewards.
//   - [github.com/noregret/noregret/law] says how values scatter around a mean, and how it moves.
//
// The command cmd/noregret puts all of it on the command line. The module lab, which is not a part
// of this one, reproduces tables and figures of the literature and measures the learners. Nor is
// the module inputs, which turns other sources into text.
//
// # Errors
//
// The package itself holds what all others share: the [Error] type, with a [Code] that programs
// switch on, a sentence for people, and the place of the fault.
package noregret
