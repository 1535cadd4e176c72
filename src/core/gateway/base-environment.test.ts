import { expect, test } from 'vitest';
import { baseEnvironment } from './variables.ts';

test('a server gets what programs need to work, and nothing else of the environment', () => {
  const wanted = {
    HOME: '/home/a',
    PATH: '/bin',
    LANG: 'de',
    LC_ALL: 'C',
    USER: 'a',
    LOGNAME: 'a',
    SHELL: '/bin/sh',
    TMPDIR: '/t',
    TERM: 'xterm',
    TZ: 'UTC',
    https_proxy: 'http://proxy',
    HTTPS_PROXY: 'http://proxy',
    http_proxy: 'http://proxy',
    HTTP_PROXY: 'http://proxy',
    no_proxy: 'localhost',
    NO_PROXY: 'localhost',
    NODE_EXTRA_CA_CERTS: '/ca',
    SSL_CERT_FILE: '/ca',
    SSL_CERT_DIR: '/ca',
    XDG_CONFIG_HOME: '/x',
  };
  const others = {
    GITHUB_TOKEN: 's',
    NODE_OPTIONS: '--require=/x',
    LD_PRELOAD: '/x',
    home: '/other',
    PATHS: 'x',
    MY_LC_ALL: 'x',
    SQUAD_RUN_ID: 'run_1',
    constructor: 'x',
  };
  expect(baseEnvironment({ ...others, ...wanted })).toEqual(wanted);
});
