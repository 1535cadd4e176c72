import { type HubSettingKey, HubSettings } from '../../schema/config.ts';
import type { Store } from '../ports/store.ts';

type SettingsStore = Pick<Store, 'settings' | 'setSetting'>;

/** The hub's settings, in memory because every start of a run reads them. */
export class SettingsInForce {
  private readonly store: SettingsStore;
  private current: HubSettings = HubSettings.parse({});
  private stored: Record<string, string> = {};

  constructor(store: SettingsStore) {
    this.store = store;
  }

  async load(): Promise<void> {
    const stored = await this.store.settings();
    this.stored = stored;
    // A value that is no longer allowed falls back to its default, so that the hub still starts.
    const usable = Object.entries(HubSettings.shape).filter(
      ([key, schema]) => key in stored && schema.safeParse(stored[key]).success,
    );
    this.current = HubSettings.parse(Object.fromEntries(usable.map(([key]) => [key, stored[key]])));
  }

  all(): HubSettings {
    return this.current;
  }

  /** Whether the setting has a value. False if the default applies. */
  isSet(key: string): boolean {
    return key in this.stored;
  }

  /** Sets a value. Null restores the default. */
  async set(key: HubSettingKey, value: string | null): Promise<void> {
    await this.store.setSetting(key, value);
    await this.load();
  }
}
