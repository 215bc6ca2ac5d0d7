// A second scripted day, in a village veterinary practice. It was written from the list of what a day has to have (two
// tasks that take turns, interruptions, a topic that returns, facts that change, a promise, a flood, talk) before it
// was run, and its texts were not changed afterwards. People and places are invented.

import type { Day, Moment, Observed } from './day.ts'

const START = Date.UTC(2031, 8, 4, 7)
const at = (minute: number): string => new Date(START + minute * 60_000).toISOString()

type Line = readonly [minute: number, id: string, actor: string, content: string, more?: Partial<Observed>]

/** Observations of one context. */
function said(contextId: string, lines: readonly Line[], group?: string): Observed[] {
  return lines.map(([minute, id, actor, content, more]) => ({
    ...{ id, occurredAt: at(minute), contextId, actor, content, ...more },
    ...(group === undefined ? {} : { group }),
  }))
}

const spaniel = said('spaniel', [
  [8, 's1', 'Lotte', 'First surgery today is the spaniel Juniper, a torn cruciate ligament in the left knee.'],
  [10, 's2', 'Bram', 'Juniper weighs 14.2 kilos, she was fasted since eight last night.'],
  [12, 's3', 'Lotte', 'Give her 4 millilitres of the painkiller before we start.'],
  [14, 's4', 'Bram', 'The bone screws of 2.7 millimetres are sterilised, the plate is still in the autoclave.'],
  [16, 's5', 'Hanna', 'The owner, Mrs Okafor, wants to be called as soon as the dog is awake.'],
  [18, 's6', 'Lotte', 'Her heart murmur is grade two, so no medetomidine in the anaesthetic.'],
  [20, 's7', 'Bram', 'Understood, I lay out propofol instead.'],
  [
    84,
    's8',
    'Lotte',
    'Change of plan: give Juniper only 3 millilitres of the painkiller, because of the murmur.',
    {
      supersedes: 's3',
    },
  ],
  [86, 's9', 'Bram', 'The plate came out of the autoclave, six holes.'],
  [134, 's10', 'Lotte', 'Juniper is on the table, the incision is closed with absorbable thread.'],
  [137, 's11', 'Bram', 'She gets a padded bandage for ten days and no stairs.'],
])

const clinic = said('clinic', [
  [24, 'v1', 'Hanna', 'Tonight is the vaccination evening for the shelter, they bring nineteen cats.'],
  [26, 'v2', 'Lotte', 'Set up two tables in the waiting room, one for the check and one for the jab.'],
  [28, 'v3', 'Hanna', 'The shelter pays half, the other half is a gift from the bakery.'],
  [30, 'v4', 'Bram', 'Three of the cats have leukaemia and must be kept apart from the rest.'],
  [32, 'v5', 'Hanna', 'The shelter van comes to the yard door at six.'],
  [39, 'v6', 'Lotte', 'Every cat gets a chip, the reader is in the drawer under the scales.'],
])

const stock = said('stock', [
  [35, 'k1', 'Bram', 'Vaccine left in the fridge: twelve vials.', { key: 'vials.left' }],
  [37, 'k2', 'Hanna', 'I order twenty more from the wholesaler in Harlow, order number 5571.'],
  [66, 'k3', 'Bram', 'The suture cabinet lacks the size four thread.'],
  [92, 'k4', 'Bram', 'Vaccine left in the fridge: nine vials.', { key: 'vials.left' }],
  [97, 'k5', 'Hanna', 'The wholesaler says the parcel is in the van of the noon round.'],
  [101, 'k6', 'Hanna', 'The invoice of the flea drops was paid twice, I asked for 86 euros back.'],
  [150, 'k7', 'Bram', 'The oxygen bottle in the back room is at a third.'],
  [
    244,
    'k8',
    'Bram',
    'The parcel is here: vaccine left in the fridge is now twenty-nine vials.',
    { key: 'vials.left' },
  ],
])

const horse = said('farm', [
  [44, 'h1', 'Otis', 'My mare Clover stands on three legs since this morning, the right hind hoof is hot.'],
  [45, 'h2', 'Lotte', 'Do not walk her, Otis. Is there a nail or a stone in the hoof?'],
  [46, 'h3', 'Otis', 'I see a black spot beside the frog, it smells bad.'],
  [47, 'h4', 'Lotte', 'That is an abscess. Soak the hoof in warm water with Epsom salt until I come.'],
  [48, 'h5', 'Hanna', 'The track to the mill farm is flooded, take the road over the quarry.'],
  [49, 'h6', 'Lotte', 'Bram, pack the hoof knife, the poultice and the tetanus serum.'],
  [51, 'h7', 'Otis', 'She had her last tetanus shot four years ago.'],
])

const errands = said('errands', [
  [
    60,
    'p1',
    'Hanna',
    'I promised the breeder Mr Quill a word about the blood results by one o’clock.',
    { dueAt: at(360) },
  ],
  [62, 'p2', 'Hanna', 'The window cleaner comes on Thursday and needs the ladder.'],
  [110, 'o1', 'Hanna', 'The practice closes at five on Saturday.'],
  [262, 'o2', 'Hanna', 'On Saturday the practice closes at four, the plumber needs the hall.'],
])

const parrot = said('parrot', [
  [170, 'b1', 'Hanna', 'A boy brings a grey parrot that plucks its own breast feathers.'],
  [172, 'b2', 'Lotte', 'Ask him what it eats and whether it sits alone all day.'],
  [174, 'b3', 'Hanna', 'Sunflower seeds only, and it is alone since the grandmother died.'],
  [176, 'b4', 'Lotte', 'Then it needs pellets, fruit and company; take a swab of the skin for mites.'],
  [178, 'b5', 'Bram', 'The swab is under the microscope, I see no mites.'],
  [300, 'd1', 'Otis', 'The delivery of hay for the recovery stable is on the road.'],
  [306, 'd2', 'Otis', 'The hay lorry stands at the level crossing.'],
  [312, 'd3', 'Otis', 'The hay lorry has passed the church.'],
  [318, 'd4', 'Otis', 'The hay lorry is in the yard now and unloads.'],
])

const talk = said(
  'kitchen',
  [
    [2, 'c1', 'Hanna', 'Good morning, the kettle is on.'],
    [3, 'c2', 'Bram', 'Morning, what a fog out there.'],
    [5, 'c3', 'Hanna', 'My sister painted her kitchen yellow.'],
    [22, 'c4', 'Bram', 'Is there any milk left?'],
    [41, 'c5', 'Hanna', 'Somebody ate the last ginger biscuit.'],
    [50, 'c6', 'Bram', 'It was not me, ask the cat.'],
    [52, 'c7', 'Hanna', 'Ha, the cat again.'],
    [53, 'c8', 'Bram', 'Did you watch the cup match?'],
    [54, 'c9', 'Hanna', 'Only the second half, what a goal.'],
    [70, 'c10', 'Bram', 'My bicycle squeaks like a mouse.'],
    [72, 'c11', 'Hanna', 'Oil it, for heaven’s sake.'],
    [78, 'c12', 'Bram', 'I hum that song all day.'],
    [118, 'c13', 'Hanna', 'Lunch is soup with beans.'],
    [122, 'c14', 'Bram', 'Again beans?'],
    [126, 'c15', 'Hanna', 'You may cook tomorrow.'],
    [160, 'c16', 'Bram', 'The sun comes through at last.'],
    [182, 'c17', 'Hanna', 'Poor bird, I could cry.'],
    [190, 'c18', 'Bram', 'My nephew wants to be a pilot.'],
    [250, 'c19', 'Hanna', 'This chair is broken again.'],
    [256, 'c20', 'Bram', 'I sit on the windowsill then.'],
    [330, 'c21', 'Hanna', 'Whose umbrella is this?'],
    [334, 'c22', 'Bram', 'Mine, it has a hole.'],
    [420, 'c23', 'Hanna', 'I am so ready for the weekend.'],
    [424, 'c24', 'Bram', 'Two more days, hold on.'],
    [560, 'c25', 'Hanna', 'Good night, see you tomorrow.'],
    [561, 'c26', 'Bram', 'Bye, sleep well.'],
    [562, 'c27', 'Hanna', 'Do not forget your scarf.'],
  ],
  'talk',
)

/** The monitor of the recovery cage says the same every minute, but for two of its lines. */
const readings = said(
  'cage',
  Array.from({ length: 44 }, (_, k): Line => {
    const pulse = 92 + ((k * 7) % 11)
    const degrees = (38 + ((k * 3) % 8) / 10).toFixed(1)
    return [196 + k, `f${k}`, 'cage monitor', `Cage two: pulse ${pulse}, temperature ${degrees} degrees, all normal.`]
  }),
  'readings',
)

const alarms = said('cage', [
  [219, 'a1', 'cage monitor', 'Cage two: temperature 40.6 degrees and rising, fever alarm.'],
  [221, 'a2', 'Bram', 'Juniper is panting and hot, I took the blanket away and opened the vent.'],
])

const evening = said('handover', [
  [520, 'e1', 'Lotte', 'Night watch: Juniper gets her next antibiotic at ten, 250 milligrams.'],
  [522, 'e2', 'Lotte', 'If the fever comes back over 40 degrees, call me at once.'],
  [525, 'e3', 'Bram', 'The key of the medicine cupboard hangs behind the clock.'],
])

const moments: Moment[] = [
  {
    ...{
      name: 'the lame mare',
      at: at(56),
      focus: 'The lame mare: what is wrong with the hoof and what do we take along?',
    },
    ...{ mustBeResident: ['h1', 'h4', 'h6'], mustNotBeResident: ['c5', 'c6', 'c7', 'c8', 'c9'] },
    failsWithout: 'competition',
  },
  {
    ...{ name: 'painkiller', at: at(90), focus: 'How much painkiller does the spaniel get?' },
    ...{ mustBeResident: ['s8'], mustNotBeResident: ['s3'], failsWithout: 'supersession' },
  },
  {
    ...{ name: 'vials', at: at(106), focus: 'How many vials of vaccine are left in the fridge?' },
    ...{ mustBeResident: ['k4'], mustNotBeResident: ['k1'], failsWithout: 'supersession' },
  },
  {
    ...{
      name: 'back to the spaniel',
      at: at(130),
      focus: 'Back to Juniper: which anaesthetic, and what about her heart?',
    },
    ...{ mustBeResident: ['s6', 's7'], mustNotBeResident: ['c13', 'c14', 'c15'], failsWithout: 'recall' },
  },
  {
    ...{ name: 'work in the flood', at: at(242), focus: null },
    ...{ mustBeResident: ['b4', 'b5', 'a1', 'a2'], atMost: { group: 'readings', n: 3 }, failsWithout: 'flood' },
  },
  {
    ...{ name: 'fever asked', at: at(248), focus: 'How is the temperature in cage two?' },
    ...{ mustBeResident: ['a1', 'a2'], atMost: { group: 'readings', n: 3 }, failsWithout: 'flood' },
  },
  {
    ...{ name: 'word to the breeder', at: at(336), focus: 'Write the bill for the parrot' },
    ...{ mustBeResident: ['p1', 'b1'], failsWithout: 'recall' },
  },
  {
    ...{ name: 'hay lorry', at: at(320), focus: 'Where is the hay lorry?', mustBeResident: ['d4'] },
    ...{
      before: [
        ['d4', 'd1'],
        ['d4', 'd2'],
        ['d4', 'd3'],
      ],
      failsWithout: null,
    },
  },
  {
    ...{ name: 'closing on Saturday', at: at(290), focus: 'When does the practice close on Saturday?' },
    ...{ mustBeResident: ['o2'], before: [['o2', 'o1']], failsWithout: 'decay' },
  },
  {
    ...{
      name: 'vaccination evening',
      at: at(450),
      focus: 'The vaccination evening: which cats must be kept apart, and who pays?',
    },
    ...{ mustBeResident: ['v3', 'v4', 'plan.evening'], mustNotBeResident: ['c21', 'c22', 'c23', 'c24'] },
    failsWithout: 'recall',
  },
  {
    ...{
      name: 'night watch',
      at: at(566),
      focus: 'Handover to the night watch: Juniper, her antibiotic and the fever',
    },
    ...{
      mustBeResident: ['rule.owners', 'e1', 'e2'],
      mustNotBeResident: ['s3'],
      mustNotBeBroadcast: ['c25', 'c26', 'c27'],
    },
    failsWithout: 'competition',
  },
]

export const PRACTICE: Day = {
  cadence: 5,
  slots: [
    {
      at: at(1),
      key: 'rule.owners',
      pinned: true,
      value: 'Never tell anyone but the owner what an animal suffers from.',
    },
    {
      at: at(34),
      key: 'plan.evening',
      pinned: false,
      value: 'Vaccination evening: check first, then jab, chip last, stamp the passports.',
    },
  ],
  focus: [
    { at: at(21), text: 'Prepare the knee surgery of the spaniel' },
    { at: at(33), text: 'Plan the vaccination evening' },
    { at: at(68), text: 'Order what the stock lacks' },
    { at: at(140), text: 'Aftercare for the dog with the bandage' },
    { at: at(180), text: 'What helps a parrot that plucks its feathers?' },
    { at: at(260), text: 'Opening hours for the sign on the door' },
    { at: at(400), text: 'Pay the open invoices' },
    { at: at(528), text: 'Who has the keys tonight?' },
  ],
  observations: [spaniel, clinic, stock, horse, errands, parrot, talk, readings, alarms, evening]
    .flat()
    .sort((one, other) => Date.parse(one.occurredAt) - Date.parse(other.occurredAt)),
  moments,
}
