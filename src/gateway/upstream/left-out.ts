/** Servers that the last who needed them could not have as they are configured, with why: nobody connects to these. */
export class LeftOut {
  readonly #faults = new Map<string, Map<string, string>>();

  of(workspace: string, server: string): string | null {
    return this.#faults.get(workspace)?.get(server) ?? null;
  }

  judged(workspace: string, server: string, fault: string | null): void {
    if (fault === null) {
      this.#faults.get(workspace)?.delete(server);
      return;
    }
    const faults = this.#faults.get(workspace) ?? new Map<string, string>();
    this.#faults.set(workspace, faults.set(server, fault));
  }

  /** Its configuration has changed. */
  forget(workspace: string): void {
    this.#faults.delete(workspace);
  }
}
