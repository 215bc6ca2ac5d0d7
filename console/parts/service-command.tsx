// What an owner does with a whole service: suspend, resume, try again, delete. Each is asked for with one key until it
// is done; what cannot be taken back is confirmed by its name.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { newIdempotencyKey, useApi } from '../api/api.ts'
import { organizationKey } from '../api/cache.ts'
import { commandService, type Verb } from '../api/commands.ts'
import type { ServiceItem } from '../api/services.ts'
import { Confirm } from './confirm.tsx'
import { Trouble } from './states.tsx'

interface ServiceCommand {
  /** At once, or after a question where it takes something away. */
  run(verb: Verb): void
  isBusy: boolean
  /** The question, or what came of it: stands below the buttons. */
  shown: ReactNode
}

export function useServiceCommand(service: ServiceItem, onDone?: (verb: Verb) => void): ServiceCommand {
  const api = useApi()
  const cache = useQueryClient()
  const [asked, ask] = useState<Verb>()
  const [key, setKey] = useState(newIdempotencyKey)
  const act = useMutation({
    mutationFn: (verb: Verb) => commandService(api, service.id, verb, key),
    onSuccess: (_, verb) => {
      setKey(newIdempotencyKey())
      ask(undefined)
      onDone?.(verb)
      return cache.invalidateQueries({ queryKey: organizationKey(api, 'services') })
    },
  })
  const close = () => {
    act.reset()
    ask(undefined)
  }
  const isDelete = asked === 'delete'
  return {
    run: (verb) => (verb === 'delete' || verb === 'suspend' ? ask(verb) : act.mutate(verb)),
    isBusy: act.isPending,
    shown: (
      <>
        {act.error && asked === undefined && (
          <Trouble error={act.error} isWrite onRetry={() => act.variables && act.mutate(act.variables)} />
        )}
        {asked && (
          <Confirm
            title={isDelete ? `Delete ${service.name}?` : `Suspend ${service.name}?`}
            action={isDelete ? 'Delete it' : 'Suspend it'}
            typed={isDelete ? service.slug : undefined}
            isBusy={act.isPending}
            onConfirm={() => act.mutate(asked)}
            onClose={close}
          >
            <p className="mut2">{isDelete ? WHAT_DELETE_DOES : WHAT_SUSPEND_DOES}</p>
            {act.error && <Trouble error={act.error} isWrite onRetry={() => act.mutate(asked)} />}
          </Confirm>
        )}
      </>
    ),
  }
}

export const WHAT_DELETE_DOES =
  'Everything in it is erased: memories, what is in mind, cycles, entries. Its tokens open nothing any more. This cannot be taken back.'
export const WHAT_SUSPEND_DOES = 'Writes are refused until it is resumed, reads go on. Nothing is lost.'
