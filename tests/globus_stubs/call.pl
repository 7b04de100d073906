# MODULE METHOD...: call them on the description on stdin, one after another in one process, as GRAM's script does.
use JSON::PP;
my ($module, @methods) = @ARGV;
require $module;
my $told = JSON::PP->new->decode(do { local $/; <STDIN> });
for my $method (@methods) {
    my $manager = Globus::GRAM::JobManager::samgrid->new(bless {%$told}, 'Globus::GRAM::JobDescription');
    my $said = $manager->$method();
    if (UNIVERSAL::isa($said, 'Globus::GRAM::Error')) { print 'GRAM_SCRIPT_ERROR:', $said->value(), "\n" }
    else { $manager->respond($said) }
    print "\n";
}
