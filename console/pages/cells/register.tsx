import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { newIdempotencyKey, useApi } from '../../api/api.ts'
import { queries } from '../../api/cache.ts'
import { staffKey } from '../../api/staff.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Trouble } from '../../parts/states.tsx'

const FIELDS = [
  { name: 'name', label: 'Name', placeholder: 'eu-west-1a', about: 'What people call it.' },
  { name: 'region', label: 'Region', placeholder: 'eu-west-1', about: 'Services ask for a region, not for a cell.' },
  { name: 'capacity', label: 'Capacity', placeholder: '1000', about: 'How many services it may hold.' },
  { name: 'endpoint', label: 'Address', placeholder: 'https://…', about: 'Where agents reach its daemons.' },
  { name: 'public_key', label: 'Public key', placeholder: '43 characters', about: 'Ed25519: `x` of its JWK.' },
] as const

/** A cell with the key that its daemons sign with. */
export function RegisterCell({ onClose }: { onClose(): void }) {
  const api = useApi()
  const [key, setKey] = useState(newIdempotencyKey)
  const [typed, setTyped] = useState<Record<string, string>>({})
  const text = (name: string) => (typed[name] ?? '').trim()
  const register = useMutation({
    mutationFn: async () => {
      const body = {
        ...{ name: text('name'), region: text('region'), endpoint: text('endpoint'), public_key: text('public_key') },
        capacity: Number(text('capacity')),
      }
      return (await api.management.call('POST /api/v1/cells', { body, idempotencyKey: key })).body
    },
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: staffKey('cells') })
      onClose()
    },
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    register.mutate()
  }
  return (
    <Dialog title="Register a cell" onClose={onClose}>
      <form className="grid" onSubmit={submit} onChange={() => register.isError && setKey(newIdempotencyKey())}>
        {FIELDS.map(({ name, label, placeholder, about }) => (
          <label key={name} className="field">
            <span className="label">{label}</span>
            <input
              name={name}
              className="in"
              required
              autoComplete="off"
              inputMode={name === 'capacity' ? 'numeric' : 'text'}
              pattern={name === 'capacity' ? '[0-9]+' : undefined}
              placeholder={placeholder}
              value={typed[name] ?? ''}
              onChange={({ target }) => setTyped({ ...typed, [name]: target.value })}
            />
            <span className="sm mut">{about}</span>
          </label>
        ))}
        {register.error && <Trouble error={register.error} isWrite onRetry={() => register.mutate()} />}
        <div className="row">
          <button type="submit" className="btn p" disabled={register.isPending}>
            {register.isPending ? 'Asking…' : 'Register it'}
          </button>
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  )
}
