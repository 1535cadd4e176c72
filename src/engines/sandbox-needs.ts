import { join } from 'node:path';
import type { LoginFile } from '../core/ports/engine.ts';

type Env = Record<string, string>;

/**
 * Files of a CLI's configuration folder. A variable may have moved the folder; in the sandbox the folder has its
 * usual place in HOME.
 */
export const filesOf = (folder: string, inside: string, names: readonly string[]): LoginFile[] =>
  names.map(name => ({ from: join(folder, name), path: join(inside, name) }));

/** Files that environment variables name. They keep their paths in the sandbox. */
export const namedFiles = (env: Env, variables: readonly string[]): LoginFile[] =>
  variables.flatMap(name => (env[name]?.startsWith('/') ? [{ from: env[name], path: env[name] }] : []));

/** Returns `host` or `host:port` of each address. Values that are not addresses are left out. */
export function hostsIn(addresses: readonly (string | null | undefined)[]): string[] {
  const hosts = addresses.flatMap(address => {
    const url = URL.parse(address ?? '');
    return url && /^https?:$/.test(url.protocol) && !url.host.includes('[') ? [url.host] : [];
  });
  return [...new Set(hosts)];
}

/** Values of `"baseUrl": "…"` and `base_url = "…"` in a configuration file of any format. */
export const addressesIn = (config: string): string[] =>
  [...config.matchAll(/\bbase_?url["']?\s*[:=]\s*["'](https?:[^"']+)["']/gi)].map(([, url]) => url!);

export const homeOf = (env: Env): string => env.HOME || '/';

/** Regions of Google Cloud: of all models, or of one. */
const REGION = /^(CLOUD_ML_REGION|GOOGLE_CLOUD_LOCATION|VERTEX_REGION_.+)$/;

/** Logins of Amazon Bedrock and Google Cloud, which some CLIs can use instead of their own. */
export function cloudLogin(
  env: Env,
  clouds: { aws: boolean; google: boolean },
): {
  login: LoginFile[];
  hosts: string[];
} {
  const home = homeOf(env);
  const aws = join(home, '.aws');
  const gcloud = env.CLOUDSDK_CONFIG || join(home, '.config/gcloud');
  const region = env.AWS_REGION || env.AWS_DEFAULT_REGION || 'us-east-1';
  const places = Object.entries(env).flatMap(([name, value]) => (REGION.test(name) ? [value] : []));
  return {
    login: [
      ...(clouds.aws
        ? [
            ...filesOf(aws, aws, ['config', 'credentials', 'sso/cache']),
            ...namedFiles(env, ['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE']),
          ]
        : []),
      ...(clouds.google
        ? [
            ...filesOf(gcloud, gcloud, ['application_default_credentials.json']),
            ...namedFiles(env, ['GOOGLE_APPLICATION_CREDENTIALS']),
          ]
        : []),
    ],
    hosts: [
      ...(clouds.aws
        ? [
            ...['bedrock', 'bedrock-runtime', 'bedrock-runtime-fips', 'sts', 'oidc', 'portal.sso'].map(
              service => `${service}.${region}.amazonaws.com`,
            ),
            ...['bedrock-mantle', 'aws-external-anthropic'].map(service => `${service}.${region}.api.aws`),
          ]
        : []),
      ...(clouds.google
        ? [
            ...['aiplatform.googleapis.com', 'claude.googleapis.com', 'oauth2.googleapis.com'],
            ...['us-east5', ...places].map(place => `${place}-aiplatform.googleapis.com`),
            ...['us', 'eu'].map(place => `aiplatform.${place}.rep.googleapis.com`),
          ]
        : []),
    ],
  };
}
