/**
 * What Codex knows a run's Squad server as. Not `squad`: that is what the user's own configuration calls it, and Codex would
 * merge the two into one that is neither.
 */
export const RUN_SERVER = 'squad_run';
