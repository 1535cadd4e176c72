/** A hundred runs with the same trouble are one trouble. */
export interface Warnings {
  say(message: string): void;
  /** From now on all of it may be said once more. */
  forget(): void;
}

export function createWarnings(warn: (message: string) => void): Warnings {
  const said = new Set<string>();
  return {
    say(message) {
      if (said.has(message)) return;
      said.add(message);
      warn(message);
    },
    forget: () => said.clear(),
  };
}
