import type { Command } from './command.ts'
import { DRY_RUN, YES } from './memory.ts'

const NAMED = [{ name: 'profile', completes: 'profile' as const }]

export const PROFILES: readonly Command[] = [
  {
    path: 'profiles list',
    summary: 'the loci that this machine knows',
    run: async (call) => (await import('../commands/profiles.ts')).list(call),
  },
  {
    path: 'profiles use',
    summary: 'make a profile the active one',
    arguments: NAMED,
    run: async (call) => (await import('../commands/profiles.ts')).use(call),
  },
  {
    path: 'profiles create',
    summary: 'write a profile down: --url leads to management',
    arguments: [{ name: 'profile' }],
    run: async (call) => (await import('../commands/profiles.ts')).create(call),
  },
  {
    path: 'profiles delete',
    summary: 'forget a profile and its key on this machine',
    arguments: NAMED,
    options: [DRY_RUN, YES],
    run: async (call) => (await import('../commands/profiles.ts')).remove(call),
  },
  {
    path: 'config show',
    summary: 'what a command would use, and where each part comes from',
    run: async (call) => (await import('../commands/profiles.ts')).show(call),
  },
  {
    path: 'config get',
    summary: 'one of them: url, profile, apiKey (its beginning), service, organization',
    arguments: [{ name: 'name', choices: ['url', 'profile', 'apiKey', 'service', 'organization'] }],
    run: async (call) => (await import('../commands/profiles.ts')).get(call),
  },
  {
    path: 'config set',
    summary: 'change the profile in use; its key stays with the address that it was made for',
    arguments: [{ name: 'name', choices: ['service', 'organization'] }, { name: 'value' }],
    run: async (call) => (await import('../commands/profiles.ts')).set(call),
  },
  {
    path: 'config path',
    summary: 'where the files are',
    run: async (call) => (await import('../commands/profiles.ts')).paths(call),
  },
  {
    path: 'use',
    summary: 'the service of this directory (.loci/context.json)',
    arguments: [{ name: 'service', completes: 'service' }],
    run: async (call) => (await import('../commands/profiles.ts')).useService(call),
  },
]
