// What is not loci: the shop's handbook, its tools, and what three customers say in ten chats each.

export interface Message {
  customer: string
  /** Chats of two customers may have the same name: they never meet. */
  chat: string
  says: string
  /** A word that a right answer to a question has. */
  hopes?: string
}

const CUSTOMERS = ['ada', 'bram', 'chen']
const CHATS = 10

/** Until this chat refunds go by the bank, from then on by the form alone. */
const BANK_CLOSES_IN = 5

export const REFUND_TOOLS = ['refund_by_bank', 'refund_by_form']

/** A tool's work, as far as this example needs it. */
export function useTool(tool: string, chat: string): 'success' | 'failure' {
  const works = Number(chat.split('-')[1]) < BANK_CLOSES_IN ? 'refund_by_bank' : 'refund_by_form'
  return tool === works ? 'success' : 'failure'
}

export const HANDBOOK = [
  { key: 'refund.limit', rule: 'A refund above 50 EUR needs the approval of Noor.' },
  { key: 'parcel.return', rule: 'The carrier returns a parcel after two failed deliveries.' },
  { key: 'pads.return', rule: 'Brake pads are excluded from returns once the seal is broken.' },
  { key: 'bulk', rule: 'Bulk orders above 20 pieces go to Joost.' },
  { key: 'warranty', rule: 'The warranty on a frame lasts for ten years.' },
  { key: 'workshop', rule: 'The workshop opens at nine.' },
  { key: 'express', rule: 'Express delivery costs 6.95 EUR.' },
  { key: 'invoice', rule: 'Invoices of schools are due after thirty days.' },
  { key: 'gift', rule: 'Gift vouchers are valid for three years.' },
  { key: 'rental', rule: 'Renting a cargo bike costs 25 EUR a day.' },
]

/** About the handbook, one for each chat, with a word of the answer. */
const ABOUT_THE_SHOP: [string, string][] = [
  ['Who approves a refund above 50 EUR?', 'Noor'],
  ['When does the carrier return a parcel?', 'two failed'],
  ['Are brake pads excluded from returns?', 'seal'],
  ['Who takes bulk orders above 20 pieces?', 'Joost'],
  ['How long is the warranty on a frame?', 'ten years'],
  ['When does the workshop open?', 'nine'],
  ['What does express delivery cost?', '6.95'],
  ['When are invoices of schools due?', 'thirty'],
  ['How long are gift vouchers valid?', 'three years'],
  ['What does renting a cargo bike cost?', '25 EUR'],
]

/** What the customers tell of themselves, one for each chat, and how they ask for it in the next one. */
const THEMSELVES: { tells(value: string): string; asks: string; values: [string, string, string] }[] = [
  {
    tells: (bike) => `I ride a ${bike}.`,
    asks: 'Which bike do I ride?',
    values: ['Gazelle Ultimate', 'Batavus Mambo', 'Koga Traveller'],
  },
  { tells: (town) => `I live in ${town}.`, asks: 'Where do I live?', values: ['Utrecht', 'Haarlem', 'Delft'] },
  { tells: (size) => `My helmet has size ${size}.`, asks: 'Which size has my helmet?', values: ['54', '57', '60'] },
  {
    tells: (who) => `${who} signs for my parcels.`,
    asks: 'Who signs for my parcels?',
    values: ['Joris', 'Sanne', 'Pim'],
  },
  {
    tells: (place) => `I park my bike ${place}.`,
    asks: 'Where do I park my bike?',
    values: ['in the shed', 'behind the school', 'on the balcony'],
  },
  {
    tells: (language) => `I prefer replies in ${language}.`,
    asks: 'Which language do I prefer for replies?',
    values: ['Dutch', 'English', 'Spanish'],
  },
  {
    tells: (inches) => `My wheels have ${inches} inches.`,
    asks: 'How many inches have my wheels?',
    values: ['28', '26', '27'],
  },
  {
    tells: (kind) => `My lights need ${kind} batteries.`,
    asks: 'Which batteries do my lights need?',
    values: ['CR2032', 'AAA', 'AA'],
  },
  {
    tells: (year) => `I bought my first bike here in ${year}.`,
    asks: 'When did I buy my first bike here?',
    values: ['2019', '2021', '2023'],
  },
  {
    tells: (day) => `I collect repairs on ${day}.`,
    asks: 'On which day do I collect repairs?',
    values: ['Tuesday', 'Thursday', 'Saturday'],
  },
]

const ITEMS = 'saddle,bell,chain,pump,basket,pedal,stand,mirror,lock,handlebar'.split(',')
const PLACES = 'with the neighbour,at the station,under the stairs,in the garden,at the bakery'.split(',')
const WAYS = 'phone,letter,mail,fax,chat'.split(',')

/** 300 turns: ten chats, in each the customers by turns, ten turns each. */
export function* day(): Generator<Message> {
  for (let n = 0; n < CHATS; n += 1) {
    const chats = CUSTOMERS.map((customer, which) => chatOf(customer, which, n))
    for (const [at] of (chats[0] ?? []).entries()) for (const chat of chats) yield chat[at] as Message
  }
}

function chatOf(customer: string, which: number, n: number): Message[] {
  const order = orderOf(which, n)
  const item = ITEMS[(n + which) % ITEMS.length]
  const [told, before] = [THEMSELVES[n], THEMSELVES[Math.max(0, n - 1)]]
  const [question, answer] = ABOUT_THE_SHOP[n] ?? []
  const way = WAYS[(n + which) % WAYS.length]
  const says: [string, string?][] = [
    [`My order ${order} is a ${item}.`],
    [told?.tells(told.values[which] ?? '') ?? ''],
    [`What is in order ${order}?`, item],
    [`Please refund order ${order}.`],
    [`The parcel of order ${order} was left ${PLACES[(n + which) % PLACES.length]}.`],
    [before?.asks ?? '', before?.values[which]],
    [question ?? '', answer],
    [`Reach me by ${way}.`],
    // Of somebody else: there is nothing that may answer it.
    n % 2 === 0 ? ['How do you reach me?', way] : [`Where was the parcel of order ${orderOf(which + 1, n)} left?`],
    ['Thank you, goodbye.'],
  ]
  return says.map(([text, hopes]) => ({ customer, chat: `chat-${n + 1}`, says: text, ...(hopes ? { hopes } : {}) }))
}

function orderOf(which: number, n: number): number {
  return 4_000 + 100 * ((which % CUSTOMERS.length) + 1) + n
}
