import { createHash, randomBytes } from 'node:crypto';

/**
 * Services of one hub carry `<home>.<hub>.<n>` in their environment: 12 hex of a hash of the home's path, 8 random hex of
 * the hub's life, and a number. So a hub finds what an earlier one of its home left behind, and nobody else's.
 */
export interface ServiceTags {
  next(): string;
  /** Whether a service was started by another hub of this home. One home has one hub at a time, so that one is dead. */
  isLeftBehind(tag: string): boolean;
}

export function createServiceTags(home: string): ServiceTags {
  const ofHome = `${createHash('sha256').update(home).digest('hex').slice(0, 12)}.`;
  const ofHub = `${ofHome}${randomBytes(4).toString('hex')}.`;
  let count = 0;
  return {
    next: () => `${ofHub}${++count}`,
    isLeftBehind: tag => tag.startsWith(ofHome) && !tag.startsWith(ofHub),
  };
}
