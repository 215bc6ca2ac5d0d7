import { stemDutch } from '../stems/dutch.ts'
import { basesOf, type LanguageTables, wordSet } from './tables.ts'

const MONTHS = 'januari|februari|maart|april|mei|juni|juli|augustus|september|oktober|november|december'
const COUNTS = 'een|twee|drie|vier|vijf|zes|zeven|acht|negen|tien|paar'
const WEEKDAYS = 'zondag|maandag|dinsdag|woensdag|donderdag|vrijdag|zaterdag'
const KIN =
  'moeder|vader|mama|papa|zus|zusje|broer|broertje|vriend|vriendin|vrienden|vrouw|man|zoon|dochter|kinderen|gezin|' +
  'familie|team|collega|buurman|buurvrouw|buren|oma|opa|oom|tante|neef|nicht|partner|baas|groep'

export const DUTCH: LanguageTables = {
  language: 'nl',
  stop: wordSet(
    'de en van ik te dat die in een hij het niet zijn is was op aan met als voor had er maar om hem dan zou of wat mijn',
    'men dit zo door over ze zich bij ook tot je mij uit der daar haar naar heb hoe heeft hebben deze u want nog zal me',
    'zij nu ge geen omdat iets worden toch al waren veel meer doen toen moet ben zonder kan hun dus alles onder ja eens',
    'hier wie werd altijd doch wordt wezen kunnen ons zelf tegen na reeds wil kon niets uw iemand geweest andere we',
    'wij jij jullie jouw onze hadden bent wanneer waar waarom welke welk deed doet gedaan wel heel even',
  ),
  telling: wordSet(
    'woont werkt houdt graag wilt speelt drinkt eet rijdt spreekt gebruikt heet gaat komt mag moeten zullen',
    'altijd nooit vandaag morgen gisteren ochtend avond nacht jaar dag dagen tijd goed goede nieuwe oude',
    'alsjeblieft bedankt weet vertel vriend huis thuis werk nummer straat liever vindt woonde werkte graag elke',
    'ieder via kost',
  ),
  stopCharacters: new Set(),
  bases: basesOf(
    ...['gaan ga gaat ging gingen gegaan', 'staan sta staat stond stonden gestaan', 'zien zie ziet zag zagen gezien'],
    ...['komen kom komt kwam kwamen gekomen', 'nemen neem neemt nam namen genomen', 'eten eet at aten gegeten'],
    ...['kopen koop koopt kocht kochten gekocht', 'verkopen verkoop verkoopt verkocht verkochten'],
    ...['brengen breng brengt bracht brachten gebracht', 'denken denk denkt dacht dachten gedacht'],
    ...['zoeken zoek zoekt zocht zochten gezocht', 'vinden vind vindt vond vonden gevonden'],
    ...['beginnen begin begint begon begonnen', 'drinken drink drinkt dronk dronken gedronken'],
    ...['zingen zing zingt zong zongen gezongen', 'winnen win wint won wonnen gewonnen'],
    ...['schrijven schrijf schrijft schreef schreven geschreven', 'blijven blijf blijft bleef bleven gebleven'],
    ...['rijden rijd rijdt rij reed reden gereden', 'krijgen krijg krijgt kreeg kregen gekregen'],
    ...[
      'lezen lees leest las lazen gelezen',
      'geven geef geeft gaf gaven gegeven',
      'liggen lig ligt lag lagen gelegen',
    ],
    ...['zitten zit zat zaten gezeten', 'spreken spreek spreekt sprak spraken gesproken'],
    ...['breken breek breekt brak braken gebroken', 'helpen help helpt hielp hielpen geholpen'],
    ...['lopen loop loopt liep liepen gelopen', 'slapen slaap slaapt sliep sliepen geslapen'],
    ...['vallen val valt viel vielen gevallen', 'houden houd houdt hou hield hielden gehouden'],
    ...['laten laat liet lieten gelaten', 'roepen roep roept riep riepen geroepen'],
    ...['vliegen vlieg vliegt vloog vlogen gevlogen', 'kiezen kies kiest koos kozen gekozen'],
    ...['verliezen verlies verliest verloor verloren', 'bieden bied biedt bood boden geboden'],
    ...['sluiten sluit sloot sloten gesloten', 'trekken trek trekt trok trokken getrokken'],
    ...['treffen tref treft trof troffen getroffen', 'zwemmen zwem zwemt zwom zwommen gezwommen'],
    ...['weten weet wist wisten geweten', 'zeggen zeg zegt zei zeiden gezegd', 'doen doe'],
    ...['wonen woon woont woonde woonden gewoond', 'werken werk werkt werkte werkten gewerkt'],
    ...['maken maak maakt maakte maakten gemaakt', 'spelen speel speelt speelde speelden gespeeld'],
    ...['leren leer leert leerde leerden geleerd', 'heten heet heette heetten geheten'],
    ...['vragen vraag vraagt vroeg vroegen gevraagd', 'sturen stuur stuurt stuurde stuurden gestuurd'],
    ...['huren huur huurt huurde huurden gehuurd', 'betalen betaal betaalt betaalde betaalden betaald'],
    ...['reizen reis reist reisde reisden gereisd', 'trouwen trouw trouwt trouwde trouwden getrouwd'],
    ...['verhuizen verhuis verhuist verhuisde verhuisden verhuisd', 'stad steden', 'schip schepen', 'kind kinderen'],
    ...[
      'ei eieren',
      'foto afbeelding afbeeldingen plaatje plaatjes',
      'moeder mama mamas',
      'vader papa papas',
      'auto wagen wagens',
    ],
  ),
  spellings: new Map(),
  elided: null,
  stem: stemDutch,
  months: MONTHS.split('|').map((month) => {
    const short = { maart: 'mrt', mei: 'mei' }[month] ?? month.slice(0, 3)
    return new RegExp(`\\b(?:${month}|${short})\\b`)
  }),
  dayOfMonth: new RegExp(`\\b(\\d{1,2})(?:e|ste|de)? (?:${MONTHS})\\b|\\b(?:${MONTHS}) (\\d{1,2})\\b`),
  time: {
    pattern: new RegExp(
      '\\b(?:' +
        [
          '(?<dayBeforeYesterday>eergisteren)',
          '(?<yesterday>gister(?:en|avond|middag|ochtend|morgen|nacht)?|vannacht|afgelopen nacht)',
          '(?<today>vandaag|vanavond|vanmorgen|vanochtend|vanmiddag|zojuist|zonet)',
          '(?<dayAfterTomorrow>overmorgen)',
          '(?<lastWeekend>(?:afgelopen|vorig|voorbije) weekend)',
          '(?<thisWeekend>(?:dit|komend|volgend) weekend)',
          '(?<lastWeek>(?:vorige|afgelopen|verleden) week)',
          '(?<thisWeek>deze week)',
          '(?<nextWeek>(?:volgende|komende) week)',
          '(?<lastMonth>(?:vorige|afgelopen) maand)',
          '(?<thisMonth>deze maand)',
          '(?<nextMonth>(?:volgende|komende) maand)',
          '(?<lastYear>(?:vorig|afgelopen) jaar)',
          `(?<count>\\d{1,4}|${COUNTS}) (?<unit>dag|dagen|week|weken|maand|maanden|jaar|jaren) (?:geleden|terug)`,
          `(?<next>volgende |komende |aanstaande )?(?<weekday>${WEEKDAYS})(?:avond|middag|ochtend|morgen)?`,
          // Last: "morgen" is also the end of other words for today.
          '(?<tomorrow>morgen(?:avond|middag|ochtend|vroeg)?)',
        ].join('|') +
        ')\\b',
      'g',
    ),
    counts: {
      ...{ een: 1, twee: 2, drie: 3, vier: 4, vijf: 5, zes: 6, zeven: 7, acht: 8, negen: 9, tien: 10, paar: 3 },
    },
    units: {
      ...{ dag: ['day', 1], dagen: ['day', 1], week: ['week', 1], weken: ['week', 1] },
      ...{ maand: ['month', 1], maanden: ['month', 1], jaar: ['year', 1], jaren: ['year', 1] },
    },
    weekdays: Object.fromEntries(WEEKDAYS.split('|').map((name, weekday) => [name, weekday])),
  },
  timeWord: new RegExp(
    '\\b(?:eergisteren|gister\\w*|vandaag|morgen\\w*|overmorgen|van(?:avond|morgen|ochtend|middag|nacht)|geleden|' +
      'onlangs|sinds|jaar|jaren|maand|maanden|week|weken|dag|dagen|weekend|in (?:19|20)\\d\\d|' +
      `(?:${WEEKDAYS})\\w*|${MONTHS})\\b`,
  ),
  names: /(?<![.!?]\s)\b[A-Z][a-z]+/g,
  first: /\b(?:[Ii]k|[Mm]ijn|[Mm]ij|[Ww]ij|[Ww]e|[Oo]ns|[Oo]nze|me)\b/,
  firstAsked: /\b(?:ik|mijn|mij|me|wij|we|ons|onze)\b/,
  you: /\b(?:je|jij|jou|jouw|jullie|u|uw)\b/,
  greeting: /^\s*(?:hoi|hallo|hey|dag|doei|bedankt|dank je|dankjewel|leuk|wauw|mooi|tot ziens|top|gefeliciteerd)\b/,
  past: /\b(?:ge\w{2,}[dt]|ge\w{2,}en|\w+(?:de|te|den|ten)|ging|was|waren|had|hadden|kwam|zag|nam|kocht|vond|kreeg)\b/g,
  question: null,
  when: /^\s*(?:wanneer|sinds wanneer|hoe laat|hoe ?lang|(?:op|in) welke? (?:datum|dag|maand|jaar)|welke (?:datum|dag|maand))\b/,
  asks: {
    place:
      /^\s*(?:waar|waarheen)\b(?! (?:houdt?|gaat?|gaan) )|\bwelke? (?:stad|land|plaats|plek|dorp|straat|restaurant|park|winkel|hotel)\b/,
    duration: /\bhoe (?:lang|vaak)\b|\bhoelang\b/,
    title:
      /\b(?:boek|boeken|film|films|lied|liedje|nummer|spel|band|serie|naam|heet|heette|genoemd|titel|merk|schrijver|bedrijf)\b/,
    person: /\b(?:wie|met wie|wiens)\b/,
  },
  gives: {
    // A language has a capital and is no place.
    place:
      /\b(?:in|te|bij|naar|uit|vanuit|nabij|rond|bezoek\w*)\s+(?:het\s+|de\s+|een\s+)?(?!(?:Arabisch|Chinees|Deens|Duits|Engels|Fins|Frans|Fries|Grieks|Hebreeuws|Hindi|Hongaars|Iers|Italiaans|Japans|Koreaans|Latijn|Nederlands|Noors|Oekraiens|Perzisch|Pools|Portugees|Roemeens|Russisch|Spaans|Swahili|Turks|Vlaams|Zweeds)\b)[A-Z]/,
    duration: new RegExp(
      `\\b(?:\\d+|${COUNTS}|enkele|veel|elke|iedere|per|om de)\\s+(?:\\w+\\s+)?` +
        '(?:seconde|minuut|minuten|uur|uren|dag|dagen|week|weken|weekend|maand|maanden|jaar|jaren|keer|ochtend|avond)\\b|' +
        '\\bsinds\\b|\\b(?:dagelijks|wekelijks|altijd|meestal|vaak|soms)\\b',
      'i',
    ),
    title: /["“„‘][^"“„”‘’]{2,200}["”’]|(?<=[a-z,] )[A-Z][a-z]+/,
    person: new RegExp(`(?<![.!?]\\s)(?<=\\s)[A-Z][a-z]+|\\b(?:${KIN})\\b`),
  },
}
