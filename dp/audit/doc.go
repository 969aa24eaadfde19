// Package audit tests claims of privacy by attack.
//
// A private mechanism cannot let an observer tell two neighbouring data sets apart better than its
// claim allows. An audit plays the observer: it runs the mechanism many times on both data sets,
// guesses from the releases which one it was, and turns the rates of its errors into a lower bound
// on the privacy loss, which holds with the stated confidence. A bound above the claim proves that
// the mechanism is broken; a bound below it proves nothing, but the stronger the attack, the more
// defects it finds. The attacks here find noise that is too small by a factor of √2.
//
// [Run] takes any mechanism; [Stream] attacks the prefix sums of package dp. The method is that of
// Jagielski, Ullman and Oprea (2020) in the form of Nasr et al. (2023), who compare errors with
// Gaussian differential privacy.
package audit
