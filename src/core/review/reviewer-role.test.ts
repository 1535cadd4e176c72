import { expect, test } from 'vitest';
import type { Role } from '../../schema/role.ts';
import { reviewerRole } from './reviewer-role.ts';

const role = (id: string, more: Partial<Role> = {}): Role => ({
  ...{ id, name: id, description: '', body: 'Look.', meta: { type: 'review' }, file: `/roles/${id}.md` },
  ...{ fault: null, warnings: [], ungranted: [], wantedMcp: [], ...more },
});
const coder = role('coder', { meta: { type: 'coding' } });

test('the configured role reviews, then the one called reviewer, then the only one, then the first', () => {
  const roles = [coder, role('zed'), role('reviewer'), role('auditor')];
  expect(reviewerRole(roles, 'zed')).toEqual({ roleId: 'zed', note: null });
  expect(reviewerRole(roles, undefined)).toEqual({ roleId: 'reviewer', note: null });
  expect(reviewerRole([coder, role('zed')], undefined)).toEqual({ roleId: 'zed', note: null });
  expect(reviewerRole([coder, role('zed'), role('auditor')], undefined)).toEqual({
    roleId: 'auditor',
    note: expect.stringContaining('auditor, zed'),
  });
});

test('a role that only has the name, or a fault, does not review', () => {
  const named = role('reviewer', { meta: {} });
  expect(reviewerRole([named, role('zed')], undefined).roleId).toBe('zed');
  expect(() => reviewerRole([named, role('zed', { fault: 'broken' })], undefined)).toThrow(
    expect.objectContaining({ code: 'ROLE_UNKNOWN', suggestions: [expect.stringContaining('squad init')] }),
  );
});

test('a missing role, type or trust is named', () => {
  const untrusted = role('zed', { meta: {}, ungranted: ['type'] });
  const refusal = (code: string, words: string) =>
    expect.objectContaining({ code, suggestions: [expect.stringContaining(words)] });
  expect(() => reviewerRole([coder], 'zed')).toThrow(refusal('ROLE_UNKNOWN', 'squad roles'));
  expect(() => reviewerRole([coder], 'coder')).toThrow(refusal('ROLE_INVALID', '`type: review`'));
  expect(() => reviewerRole([untrusted], 'zed')).toThrow(refusal('ROLE_INVALID', '`squad trust`'));
  expect(() => reviewerRole([untrusted], undefined)).toThrow(refusal('ROLE_UNKNOWN', '`squad trust`'));
});
