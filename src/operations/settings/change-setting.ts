import { z } from 'zod';
import { didYouMean } from '../../core/text.ts';
import { type HubSettingKey, HubSettings } from '../../schema/config.ts';
import { SquadError } from '../../schema/error.ts';
import { operation } from '../operation.ts';

/** Changes one of the hub's own settings; null restores the default. Takes effect at once. */
export const changeSetting = operation({
  name: 'change_setting',
  route: 'POST /settings',
  input: z.strictObject({ key: z.string(), value: z.string().max(10_000).nullable() }),
  output: z.object({ key: z.string(), value: z.unknown() }),
  async run({ services }, { key, value }) {
    const { settings, runner, store, clock } = services;
    const known = Object.keys(HubSettings.shape);
    if (!known.includes(key))
      throw new SquadError('CONFIG_INVALID', `There is no setting ${key}`, {
        suggestions: [didYouMean(key, known) ?? `Settings: ${known.join(', ')}.`],
      });
    const name = key as HubSettingKey;
    if (value !== null) check(name, value);
    await settings.set(name, value);
    const body = { type: 'setting.changed' as const, key, value };
    await store.commit({ events: [{ at: clock.now(), runId: null, squadId: null, body }] });
    runner.pump();
    return { key, value: settings.all()[name] };
  },
});

function check(key: HubSettingKey, value: string): void {
  const parsed = HubSettings.shape[key].safeParse(value);
  if (parsed.success && value.trim() !== '') return;
  const why = parsed.error?.issues[0]?.message ?? 'it is empty';
  throw new SquadError('CONFIG_INVALID', `${key} cannot be ${JSON.stringify(value)}: ${why}`, {
    suggestions: [`Default: ${HubSettings.parse({})[key] ?? 'no limit'}.`],
  });
}

/**
 * Checks whether a terminal may change which files are trusted. The terminal shows and writes the files; the hub
 * decides, because it knows whether the terminal belongs to an agent.
 */
export const changeTrust = operation({
  name: 'change_trust',
  route: 'POST /trust',
  input: z.strictObject({
    /** Roles for which to list the files that their runs would use if the user trusted them. */
    roles: z.array(z.string()).max(1_000).optional(),
  }),
  output: z.object({ untrusted: z.array(z.string()) }),
  async run({ services, caller }, { roles }) {
    if (roles === undefined) return { untrusted: [] };
    return { untrusted: await (await services.workspaces.open(caller)).untrusted(roles) };
  },
});

const MAX_NAMED = 5;

/** Names settings of the repository that have no effect, so that nobody relies on them. */
export function untrustedConfigWarning(passedOver: readonly { key: string; file: string }[]): string[] {
  const all = [...new Set(passedOver.map(({ key, file }) => `${key} in ${file}`))];
  return all.length === 0
    ? []
    : [`Not used until you run \`squad trust\`: ${all.slice(0, MAX_NAMED).join(', ')}.`];
}
