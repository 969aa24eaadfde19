/** The options of the providers. */
export type ProviderOptions = {
  /** The metrics of each flag: a tracked event of this name becomes feedback. */
  metrics?: { [flag: string]: string[] };
  /** Whether an evaluation reports an exposure, true by default. */
  exposures?: boolean;
  /** Gets what could not be reported. */
  onError?: (error: unknown) => void;
};
