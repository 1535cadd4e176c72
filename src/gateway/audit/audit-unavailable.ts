import { SquadError } from '../../schema/error.ts';

export function auditUnavailable(path: string, cause: unknown): SquadError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new SquadError(
    'AUDIT_UNAVAILABLE',
    `The audit log ${path} cannot be written (${why}): until it can, agents get nothing of other servers`,
    {
      cause,
      suggestions: [
        'Free some space, or mend what keeps the file from being written. It is tried again by itself; what was taken before is not lost.',
      ],
    },
  );
}

export const auditClosed = () =>
  new SquadError('AUDIT_UNAVAILABLE', 'The audit log is closed: the hub is stopping', {
    suggestions: ['Try again: a new hub is started on first use.'],
  });
